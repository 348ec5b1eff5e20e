"""The table of checks: the stages of an audit, cheap and basic ones first, and the lines they fill."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from clevrhope.audit.checks.clevr_scenes import check_clevr_scenes
from clevrhope.audit.checks.counts import check_counts
from clevrhope.audit.checks.files import check_files
from clevrhope.audit.checks.images import check_images, check_passes
from clevrhope.audit.checks.leaks import check_pairs
from clevrhope.audit.checks.scenes import check_object_counts, check_scenes
from clevrhope.audit.checks.text import check_text
from clevrhope.audit.checks.visibility import MOST_SCENES, check_visibility
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.leaks.report import LINES as LEAKS
from clevrhope.audit.report import Line, Lines
from clevrhope.audit.sets.check import check_sets
from clevrhope.audit.suites.check import LINES as SUITES
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
    needs: Collection[str] = QUESTIONS
    """The kinds of files without which all its lines are done in part."""

    def needs_of(self, line: Line) -> Collection[str]:
        """The kinds of files without which a line is done in part."""
        return {*self.needs, *line.needs}


def _n_images(folder: AuditFolder) -> int:
    return sum(int(pool["images"]) for pool in folder.manifest.pools.values())


def _n_annotated(folder: AuditFolder) -> int:
    return _n_images(folder) if folder.manifest.config.get("passes") else 0


def _n_splits(folder: AuditFolder) -> int:
    return len(folder.splits)


READABLE = Line("readable", "files", "every file is there, and can be read to its end")

CHECKSUMS = Stage(
    "Comparing checksums",
    "files",
    lambda folder: len(folder.manifest.files),
    check_files,
    (Line("files", "files", "every file has its size and SHA-256 in the manifest; no file is unlisted"),),
    needs=(),
)
"""The one stage that needs no file to be readable."""

STAGES = (
    CHECKSUMS,
    Stage(
        "Counting",
        "splits",
        _n_splits,
        check_counts,
        (
            Line(
                "counts",
                "numbers",
                "manifest, measured.json and files give the same numbers; minimal sets have the right size",
            ),
        ),
        PAIRS,
    ),
    Stage(
        "Comparing scenes",
        "pools",
        lambda folder: len(folder.pools),
        check_scenes,
        (
            Line("twin scenes", "scenes", "no scene has the objects and positions of another, in any pool"),
            Line(
                "relationships",
                "scenes",
                "relationships follow from positions and directions, and directions from the camera",
            ),
            Line("train and test", "images", "no train image is in a test, and none in both complex sets"),
        ),
    ),
    Stage(
        "Comparing splits",
        "splits",
        _n_splits,
        check_object_counts,
        (
            Line(
                "numbers of objects",
                "images",
                "every image that is in no group has {min_objects} to {max_objects} objects, and all these "
                "numbers are equally frequent in every split",
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
            ),
        ),
    ),
    Stage(
        "Parsing texts into programs",
        "questions",
        lambda folder: sum(split.n_rows for split in (*folder.all_splits, *folder.all_others)),
        check_text,
        (
            Line("text", "questions", "each text, parsed back, means its program, family and answer"),
            Line("duplicates", "questions", "no text or family occurs twice on an image of a split"),
            Line(
                "balance",
                "questions",
                "CLEVR's rule allowed each answer when it was chosen: at most 1.1 times as often as its "
                "family's second most frequent answer in the window, and at most 5 times the median",
            ),
            Line(
                "arrays",
                "questions",
                "lengths, padding, `relation_needed`, numbers of rows and attributes fit the questions",
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
        lambda folder: len(folder.pairs) + len(folder.added),
        check_suites,
        SUITES,
        PAIRS,
    ),
    Stage(
        "Reading questions over several images",
        "splits",
        lambda folder: len(folder.sets),
        check_sets,
        (
            Line(
                "several images: files",
                "questions",
                "numbers are in their range; HDF5 and JSON agree; the images of a question are different "
                "scenes of the split's pool; two questions each have one text, program and two answers",
            ),
            Line(
                "several images: programs",
                "questions",
                "programs give the answer; template and structure are theirs; the source shows what the "
                "question describes, if an image does",
            ),
            Line(
                "several images: distractors",
                "questions",
                "what a question describes as unique is in its source once and nowhere else; `cut` says "
                "whether the program without its last leaf gives another answer, and it does where it must",
            ),
            Line(
                "several images: pair",
                "questions",
                "the held-out pair is in no question but those of test_ood, where `pair_places` says where; "
                "unless it is held out of words alone, it is in no other image either",
            ),
            Line(
                "several images: texts",
                "questions",
                "dev and test share no text; test_paraphrased asks what test asks in words of its own; and "
                "texts of train have two answers",
            ),
            Line(
                "several images: balance",
                "cells",
                "answers are even in each template and structure, and sources over places; and neither the "
                "number of objects nor that of images gives the answer away",
            ),
        ),
        SETS,
    ),
    Stage(
        "Looking at images",
        "images",
        _n_images,
        check_images,
        (Line("images", "images", "each image is there, has its size, is not blank; HDF5 has its pixels"),),
        (*QUESTIONS, "images"),
    ),
    Stage(
        "Looking at annotations",
        "images",
        _n_annotated,
        check_passes,
        (Line("passes", "images", "annotations are there, of the image's size; masks fit the scenes"),),
        (*QUESTIONS, "passes"),
    ),
)

BESIDE_CLEVR = (
    Line("scenes of CLEVR", "scenes", "no scene has the objects of a scene of CLEVR's val or test"),
    Line("questions of CLEVR", "questions", "no question is about an image of CLEVR's val or test"),
)
"""The lines of an audit beside a CLEVR folder."""
