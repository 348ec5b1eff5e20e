"""The table of checks: the stages of an audit, cheap and basic ones first, and the lines they fill."""

from collections.abc import Callable
from dataclasses import dataclass

from clevrhope.audit.checks.clevr_scenes import check_clevr_scenes
from clevrhope.audit.checks.counts import check_counts
from clevrhope.audit.checks.files import check_files
from clevrhope.audit.checks.images import check_images, check_passes
from clevrhope.audit.checks.leaks import check_pairs
from clevrhope.audit.checks.object_counts import check_object_counts
from clevrhope.audit.checks.scenes import check_scenes, n_grouped_scenes
from clevrhope.audit.checks.text import check_text
from clevrhope.audit.checks.visibility import MOST_SCENES, check_visibility
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.leaks.report import LINES as LEAKS
from clevrhope.audit.report import Line, Lines
from clevrhope.audit.sets.check import check_sets
from clevrhope.audit.suites.check import check_suites
from clevrhope.runtime.progress import Advance

QUESTIONS = ("questions", "scenes")
"""The kinds of files that checks of questions about single images need."""
PAIRS = (*QUESTIONS, "pairs")
SETS = ("sets", "scenes")


@dataclass(frozen=True)
class Stage:
    """A check, and the lines of the report that it fills."""

    title: str
    """What the progress display calls it."""
    unit: str
    """What is counted while it runs."""
    total: Callable[[AuditFolder], int]
    """How many of these there are; 0 means unknown."""
    run: Callable[[AuditFolder, Lines, Advance], None]
    lines: tuple[Line, ...]


READABLE = Line("readable", "files", "every file is there, and can be read to its end")

CHECKSUMS = Stage(
    "Comparing checksums",
    "files",
    lambda folder: len(folder.manifest.files),
    check_files,
    (
        Line(
            "files",
            "files",
            "every file has the size and SHA-256 that the manifest lists, and no file is unlisted",
        ),
    ),
)
"""The one stage that needs no file to be readable."""


def _n_images(folder: AuditFolder) -> int:
    return sum(int(pool["pictures"]) for pool in folder.manifest.pools.values())


STAGES = (
    CHECKSUMS,
    Stage(
        "Counting",
        "splits",
        lambda folder: len(folder.splits),
        check_counts,
        (
            Line(
                "counts",
                "numbers",
                "manifest, measured.json and files give the same numbers; minimal sets have the right size",
                PAIRS,
            ),
        ),
    ),
    Stage(
        "Comparing scenes",
        "scenes",
        n_grouped_scenes,
        check_scenes,
        (
            Line(
                "twin scenes",
                "scenes",
                "no scene has the objects and positions of another, in its pool or any other",
                QUESTIONS,
            ),
            Line(
                "relationships",
                "scenes",
                "what is left, right, behind and in front of what follows from positions and directions, and "
                "directions follow from the camera",
                QUESTIONS,
            ),
            Line(
                "train and test",
                "images",
                "over all pairs, no image is in both a train and a test split, nor in both complex sets",
                QUESTIONS,
            ),
            Line(
                "minimal groups",
                "images",
                "the images of a place differ in the pair's types alone; each question is asked about every "
                "image that it may be, and true of one; in the OOD set, all answers of a group but one are "
                "no",
                QUESTIONS,
            ),
            Line(
                "preliminary sets",
                "images",
                "in each group and set nothing changes but the value that is asked for; existence is true of "
                "one image of two; counting has 0 to 5 objects with the value, always at the same five "
                "positions",
                QUESTIONS,
            ),
        ),
    ),
    Stage(
        "Comparing splits",
        "splits",
        lambda folder: len(folder.splits),
        check_object_counts,
        (
            Line(
                "numbers of objects",
                "images",
                "every image that is in no group has {min_objects} to {max_objects} objects, and all these "
                "numbers are equally frequent in every split",
                QUESTIONS,
            ),
        ),
    ),
    Stage(
        "Looking at CLEVR's scenes",
        "scenes",
        lambda folder: 0,  # only the scenes tell how many of them are CLEVR's
        check_clevr_scenes,
        (
            Line(
                "scenes from CLEVR",
                "scenes",
                "scenes of CLEVR are from its train split, occur once, and are in the train pool at the "
                "share that the manifest states; all others have a camera and a stream",
                QUESTIONS,
            ),
        ),
    ),
    Stage(
        "Looking at objects",
        "scenes",
        lambda folder: MOST_SCENES,
        check_visibility,
        (
            Line(
                "visible objects",
                "scenes",
                "each object shows at least {min_pixels} pixels to its camera, and as many as its scene says",
                QUESTIONS,
            ),
        ),
    ),
    Stage(
        "Parsing texts into programs",
        "questions",
        lambda folder: sum(split.n_rows for split in folder.all_splits),
        check_text,
        (
            Line(
                "text",
                "questions",
                "each text, parsed back through the templates, means its program, family and answer",
                QUESTIONS,
            ),
            Line(
                "duplicates",
                "questions",
                "no text or family occurs twice on an image of a split; an image's questions are consecutive",
                QUESTIONS,
            ),
            Line(
                "balance",
                "questions",
                "CLEVR's rule allowed each answer when it was chosen: at most 1.1 times as often as its "
                "family's second most frequent answer in the window, and at most 5 times the median",
                QUESTIONS,
            ),
            Line(
                "arrays",
                "questions",
                "rows of tokens are as long as their lengths say, with only padding after them; "
                "`relation_needed` says for each relation whether the program without it has another "
                "answer; rows are numbered in order; files name their own pair and split, and train sets "
                "their prefixes",
                QUESTIONS,
            ),
        ),
    ),
    Stage(
        "Executing programs, looking for leaks",
        "pairs",
        lambda folder: len(folder.hops),
        check_pairs,
        LEAKS,
    ),
    Stage(
        "Reading pairs of suites",
        "files",
        lambda folder: len(folder.suites) + len(folder.augmented),
        check_suites,
        (
            Line(
                "pairs",
                "pairs",
                "every pair has a question of its split, the same in every array, or one that was searched "
                "for on an image of it, each once; and one that the suite made of it about the same image, "
                "in a family that the test makes; vocabularies keep the dataset's numbers",
                PAIRS,
            ),
            Line(
                "pair programs",
                "questions",
                "every program of a pair, executed again, gives the stored answer and needs the stored "
                "relations; lengths and padding fit its tokens",
                PAIRS,
            ),
            Line(
                "pair answers",
                "pairs",
                "the answers of each pair go together as its relation says; the answer to a choice is one of "
                "the values offered",
                PAIRS,
            ),
            Line(
                "pair mentions",
                "pairs",
                "`cell` and `touches` say whether questions mention, the image shows and an answer completes "
                "what is held out; no question that was made breaks the rule of its split, in program or "
                "words",
                PAIRS,
            ),
            Line(
                "pair texts",
                "questions",
                "each text that a suite made, parsed back through the templates, means its program, family "
                "and answer, and differs from its original's",
                PAIRS,
            ),
            Line(
                "pair balance",
                "pairs",
                "where partners ask for the answer or another value, each value is asked for with yes as "
                "often as with no, in each test, for each type of answer, with and without a mention in the "
                "original",
                PAIRS,
            ),
            Line(
                "pair foils",
                "pairs",
                "crossings ask for the value that completes what is held out, with what the original says of "
                "its object; controls beside them for another one; groups for every value of a type, of "
                "which one is right; and pairs have the cells that their test takes",
                PAIRS,
            ),
            Line(
                "pair files",
                "questions",
                "HDF5, JSON and scene files agree on every question of a pair",
                (*PAIRS, "question files of pairs"),
            ),
            Line(
                "added questions",
                "questions",
                "a train set with questions of a suite has all questions of its train set, the same in every "
                "array, and after every ten of them one whose original is among those before it",
                PAIRS,
            ),
            Line(
                "pair images",
                "images",
                "every edited image and its scene are those of the split's image with the edit that is "
                "recorded: foreground and background, objects, places and what is seen of them; names are "
                "unique",
                PAIRS,
            ),
        ),
    ),
    Stage(
        "Reading questions over several images",
        "splits",
        lambda folder: len(folder.set_splits),
        check_sets,
        (
            Line(
                "several images: files",
                "questions",
                "files of questions over several images are those of the manifest; numbers are in their "
                "range; HDF5 and JSON agree on every question; the images of a question are different "
                "scenes of the split's pool with at most 64 objects; and two questions each have one text, "
                "one program and two answers",
                SETS,
            ),
            Line(
                "several images: programs",
                "questions",
                "every program over several images, executed again on its set, gives the answer; template "
                "and structure are the program's; the source shows what the question describes, if an image "
                "does",
                SETS,
            ),
            Line(
                "several images: distractors",
                "questions",
                "what a question over several images describes as unique is in its source once and nowhere "
                "else; `cut` says whether the program without its last leaf gives another answer, and it "
                "does where it must",
                SETS,
            ),
            Line(
                "several images: pair",
                "questions",
                "the held-out pair is in no question over several images but those of test_ood, where "
                "`pair_places` says where it is; unless it is held out of words alone, it is in no other "
                "image either",
                SETS,
            ),
            Line(
                "several images: texts",
                "questions",
                "dev and test share no text; test_paraphrased asks what test asks in words of its own; and "
                "texts of train have two answers",
                SETS,
            ),
            Line(
                "several images: balance",
                "cells",
                "answers are even in each template and structure, and sources over places; and neither the "
                "number of objects nor that of images gives the answer away",
                SETS,
            ),
        ),
    ),
    Stage(
        "Looking at images",
        "images",
        _n_images,
        check_images,
        (
            Line(
                "images",
                "images",
                "each image is there, has the right size and is not blank; PNG and HDF5 have the same pixels",
                (*QUESTIONS, "images"),
            ),
        ),
    ),
    Stage(
        "Looking at annotations",
        "images",
        lambda folder: _n_images(folder) if folder.manifest.config.get("passes") else 0,
        check_passes,
        (
            Line(
                "passes",
                "images",
                "every image has the annotations that the manifest promises, of its size; masks show each "
                "object where its scene has it, and boxes and numbers of pixels are those of the mask",
                (*QUESTIONS, "passes"),
            ),
        ),
    ),
)

BESIDE_CLEVR = (
    Line("scenes of CLEVR", "scenes", "no scene has the objects of a scene of CLEVR's val or test"),
    Line("questions of CLEVR", "questions", "no question is about an image of CLEVR's val or test"),
)
"""The lines of an audit beside a CLEVR folder."""
