"""The table of all checks of the audit, in the order in which they run: cheap and basic ones first."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from clevrhope.audit.checks.clevr import check_clevr_scenes
from clevrhope.audit.checks.counts import check_counts
from clevrhope.audit.checks.files import check_files
from clevrhope.audit.checks.images import check_images, check_passes
from clevrhope.audit.checks.questions import check_text
from clevrhope.audit.checks.scenes import MOST_SCENES, check_object_counts, check_scenes, check_visibility
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.leaks.check import check_pairs
from clevrhope.audit.report import CheckRow, Results, check_rows
from clevrhope.audit.sets.check import check_sets
from clevrhope.audit.suites.check import check_suites
from clevrhope.runtime.progress import Advance
from clevrhope.splits.kinds import OOD

QUESTIONS = ("questions", "scenes")
"""The kinds of files that checks of questions about single images need."""
PAIRS = (*QUESTIONS, "pairs")
SETS = ("sets", "scenes")

JSON_FILES = {"HDF5 and JSON": "question files", "pair files": "question files of pairs"}
"""The kind of files that a check needs besides those of its stage."""


@dataclass(frozen=True)
class AuditStage:
    """A function that checks, and the lines of the report that it fills."""

    title: str
    """What the progress display calls it."""
    unit: str
    """What is counted while it runs."""
    total: Callable[[AuditFolder], int]
    """How many of these there are; 0 means unknown."""
    run: Callable[[AuditFolder, Results, Advance], None]
    """Raises a DatasetError or SceneError that names a file which is missing or cannot be read."""
    rows: tuple[CheckRow, ...]
    needs: Collection[str] = QUESTIONS
    """The kinds of files without which all its checks are done in part."""


def _n_images(folder: AuditFolder) -> int:
    return sum(int(pool["images"]) for pool in folder.manifest.pools.values())


def _n_annotated(folder: AuditFolder) -> int:
    return _n_images(folder) if folder.manifest.config.get("passes") else 0


def _n_splits(folder: AuditFolder) -> int:
    return len(folder.splits)


(READABLE,) = check_rows("readable (files): every file is there, and can be read to its end")

CHECKSUMS = AuditStage(
    "Comparing checksums",
    "files",
    lambda folder: len(folder.manifest.files),
    check_files,
    check_rows("files (files): every file has its size and SHA-256 in the manifest; no file is unlisted"),
    needs=(),
)
"""The one stage that needs no file to be readable."""

STAGES = (
    CHECKSUMS,
    AuditStage(
        "Counting",
        "splits",
        _n_splits,
        check_counts,
        check_rows("""
            counts (numbers): manifest, measured.json and files give the same numbers; minimal sets have the
                right size
        """),
        PAIRS,
    ),
    AuditStage(
        "Comparing scenes",
        "pools",
        lambda folder: len(folder.pools),
        check_scenes,
        check_rows("""
            twin scenes (scenes): no scene has the objects and positions of another, in any pool
            relationships (scenes): relationships follow from positions and directions, and directions from
                the camera
            train and test (images): no train image is in a test, and none in both complex sets
        """),
    ),
    AuditStage(
        "Comparing splits",
        "splits",
        _n_splits,
        check_object_counts,
        check_rows("""
            numbers of objects (images): every image that is in no group has {min_objects} to {max_objects}
                objects, and all these numbers are equally frequent in every split
        """),
    ),
    AuditStage(
        "Looking at CLEVR's scenes",
        "scenes",
        lambda folder: 0,  # only the scenes tell how many of them are CLEVR's
        check_clevr_scenes,
        check_rows("""
            scenes from CLEVR (scenes): scenes of CLEVR are from its train split, occur once, and are in the
                train pool at the share that the manifest states; all others have a camera and a stream
        """),
    ),
    AuditStage(
        "Looking at objects",
        "scenes",
        lambda folder: MOST_SCENES,
        check_visibility,
        check_rows("""
            visible objects (scenes): each object shows at least {min_pixels} pixels to its camera, and as
                many as its scene says
        """),
    ),
    AuditStage(
        "Parsing texts into programs",
        "questions",
        lambda folder: sum(split.n_rows for split in (*folder.all_splits, *folder.all_others)),
        check_text,
        check_rows("""
            text (questions): each text, parsed back, means its program, family and answer
            duplicates (questions): no text or family occurs twice on an image of a split
            balance (questions): CLEVR's rule allowed each answer when it was chosen: at most 1.1 times as
                often as its family's second most frequent answer in the window, and at most 5 times the
                median
            arrays (questions): lengths, padding, `relation_needed`, numbers of rows and attributes fit the
                questions
        """),
    ),
    AuditStage(
        "Executing programs, looking for leaks",
        "pairs",
        lambda folder: len(folder.hops),
        check_pairs,
        check_rows(f"""
            programs (questions): every program, executed again, gives the stored answer
            held-out pair (questions): no train or IID image, program or text holds the pair, nor, with
                --strictness implied, does a program imply it; every OOD question and {OOD} image does;
                every question about a value names it
            palette (images): if not all combinations of values occur, no image shows another one, except the
                pair where it belongs, and no question of a pair names one
            apart (images): no image is in two splits of a pair, except the minimal ones
            HDF5 and JSON (questions): HDF5, JSON and scene files agree on every question
            groups (images): in each group of images nothing changes but the pair's types or the value that is
                asked for; each question is asked about every image that it may be, and true of one; each
                counting set shows and has the answers 0 to 5, at the same positions
        """),
    ),
    AuditStage(
        "Reading pairs of suites",
        "files",
        lambda folder: len(folder.pairs) + len(folder.added),
        check_suites,
        check_rows("""
            pairs (pairs): every pair has a question of its split, the same in every array, or one that was
                searched for on an image of it, each once; and one that a test makes of it about the same
                image
            pair programs (questions): programs of pairs give the answer and need the relations
            pair answers (pairs): the answers of each pair go together as its relation says
            pair mentions (pairs): `cell` and `touches` say what questions mention, the image shows and an
                answer completes; no question that was made breaks the rule of its split, in program or words
            pair texts (questions): each text that a suite made means its program, and is its own
            pair balance (pairs): each value is asked for with yes as often as with no
            pair foils (pairs): crossings ask for the value that completes what is held out, controls beside
                them for another one, groups for every value of a type; pairs have the cells that their test
                takes
            pair files (questions): HDF5, JSON and scene files agree on every question of a pair
            added questions (questions): a train set with questions of a suite has all questions of its train
                set, and after every ten of them one whose original is among those before it
            pair images (images): edited images and scenes are those of the split's image with the edit that
                is recorded
        """),
        PAIRS,
    ),
    AuditStage(
        "Reading questions over several images",
        "splits",
        lambda folder: len(folder.sets),
        check_sets,
        check_rows("""
            several images: files (questions): numbers are in their range; HDF5 and JSON agree; the images of
                a question are different scenes of the split's pool; two questions each have one text, program
                and two answers
            several images: programs (questions): programs give the answer; template and structure are theirs;
                the source shows what the question describes, if an image does
            several images: distractors (questions): what a question describes as unique is in its source once
                and nowhere else; `cut` says whether the program without its last leaf gives another answer,
                and it does where it must
            several images: pair (questions): the held-out pair is in no question but those of test_ood, where
                `pair_places` says where; unless it is held out of words alone, it is in no other image either
            several images: texts (questions): dev and test share no text; test_paraphrased asks what test
                asks in words of its own; and texts of train have two answers
            several images: balance (cells): answers are even in each template and structure, and sources over
                places; and neither the number of objects nor that of images gives the answer away
        """),
        SETS,
    ),
    AuditStage(
        "Looking at images",
        "images",
        _n_images,
        check_images,
        check_rows("""
            images (images): each image is there, has its size, is not blank; HDF5 has its pixels
        """),
        (*QUESTIONS, "images"),
    ),
    AuditStage(
        "Looking at annotations",
        "images",
        _n_annotated,
        check_passes,
        check_rows("""
            passes (images): annotations are there, of the image's size; masks fit the scenes
        """),
        (*QUESTIONS, "passes"),
    ),
)

BESIDE_CLEVR = check_rows("""
    scenes of CLEVR (scenes): no scene has the objects of a scene of CLEVR's val or test
    questions of CLEVR (questions): no question is about an image of CLEVR's val or test
""")
"""The checks beside a CLEVR folder."""
