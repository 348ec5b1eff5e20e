"""What made a folder in; how it was made, whose it is and how it is kept out, as its datasheets say it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from clevrhope.describe.markdown import code, escape, listed, number, table
from clevrhope.images.settings import made_by
from clevrhope.splits.kinds import SPLITS, TRAIN

PAPER = (
    "Berlot-Attwell, Agrawal, Carrell, Sharma and Saphra, "
    '"Attribute Diversity Determines the Systematicity Gap in VQA"'
)
"""The paper whose dataset this one follows."""

CLEVR = (
    "Johnson, Hariharan, van der Maaten, Fei-Fei, Zitnick and Girshick, "
    '"CLEVR: A Diagnostic Dataset for Compositional Language and Elementary Visual Reasoning" (2017)'
)
"""To be named wherever its scenes or images are, as their licence, CC BY 4.0, asks."""


@dataclass(frozen=True)
class Provenance:
    """What made the folder."""

    dataset_version: str
    software_version: str
    seed: int
    world: Mapping[str, object]
    """Fingerprint and constraints."""
    attributes: Mapping[str, Sequence[str]]
    """The world's attribute types, each with its values."""
    templates: Mapping[str, object]
    """Fingerprint and folder."""
    rendering: Mapping[str, object] | None
    """How images were rendered; None when none were."""
    image_files: Sequence[str]
    """Kinds of image files that are there: "PNG", "HDF5"."""
    splits: Collection[str]
    """Names of all splits in the folder."""
    passes: Sequence[str] = ()
    """What is told of each pixel beside its colour: some of mask, depth and normal."""
    match: str = "none"
    """What all splits have alike: "none" or "objects"."""
    strictness: str = "description"
    """What pairs are held out of: "description", or "implied" likenesses too."""
    clevr: Mapping[str, object] | None = None
    """Number, share and fingerprint of CLEVR's train scenes, where the folder is bound to them."""

    @property
    def shares_clevr(self) -> bool:
        """Scenes of CLEVR are in the folder: no other pool than that of train takes any."""
        return self.clevr is not None and TRAIN.name in self.splits


def made_with(made: Provenance) -> str:
    """How the folder was made, whose it is, and how it is kept: the same for each of its datasheets."""
    constraints = made.world.get("constraints", {})
    rows = [
        ("dataset version", escape(made.dataset_version)),
        ("clevrhope", escape(made.software_version)),
        ("seed", str(made.seed)),
        ("world", code(made.world.get("fingerprint", ""))),
        (
            "templates",
            f"{code(made.templates.get('folder', ''))} {code(made.templates.get('fingerprint', ''))}",
        ),
        ("images", _rendering(made)),
        *([("`--passes`", listed([code(kind) for kind in made.passes]))] if made.passes else []),
        ("`--match`", code(made.match)),
        ("`--strictness`", code(made.strictness)),
    ]
    if isinstance(constraints, Mapping):
        rows += [(escape(name), escape(value)) for name, value in constraints.items() if _is_plain(value)]
    return "\n\n".join(
        [
            "## How was it made?",
            "Scenes are sampled at random under the constraints below, each a function of world, seed, "
            "pool and index. "
            + _asked(made.splits)
            + _bound(made)
            + (
                ""
                if made.rendering is None
                else f"Images are rendered from the scenes by {escape(made_by(made.rendering))}. "
            )
            + "Nobody was asked, watched or paid; "
            + (
                "nothing was taken from elsewhere"
                if made.clevr is None or not made.shares_clevr
                else f"{_taken(made.clevr)}, nothing else was taken from elsewhere"
            )
            + ". The "
            "settings, every file's checksum and the command's choices are in `manifest.json`; the same "
            "settings and seed give the same bytes, pixels on the same machine included.",
            table(["", "value"], rows),
            "## How is it distributed and kept?",
            "The data are under the Creative Commons Attribution licence, CC BY 4.0; clevrhope, which made "
            "them, is under the MIT licence. "
            + _renderers_licence(made)
            + "Whoever publishes a folder maintains it; a folder can be extended with more pairs or "
            "larger sizes without moving what is there, and a change that would move it has another "
            "dataset version.",
        ]
    )


def _asked(splits: Collection[str]) -> str:
    """How questions are found, of the kinds of splits that the folder has."""
    of_groups = sorted(name for name in splits if SPLITS[name].drawn != "stream")
    streamed = len(splits) > len(of_groups)
    parts = []
    if streamed:
        parts.append(
            "Questions are found by a search over templates and balanced over windows of "
            "250 scenes, so that no answer of a template prevails. "
        )
    if of_groups:
        names = listed([code(name) for name in of_groups])
        begin = f"Those of {names} are not: there" if streamed else f"In {names}"
        parts.append(f"{begin} the images of a group decide how frequent each answer is. ")
    return "".join(parts)


def _bound(made: Provenance) -> str:
    """What a folder is bound to beside its seed, the defaults too: another choice needs another folder."""
    match = (
        "scenes are thinned until all numbers of objects are equally likely in every split of whole scenes"
        if made.match == "objects"
        else "numbers of objects are left as they come"
    )
    strictness = (
        "train and IID questions ask for a held-out pair by no likeness either"
        if made.strictness == "implied"
        else "no description in a train or IID question holds all values of a held-out pair"
    )
    text = f"With `--match {made.match}` {match}; with `--strictness {made.strictness}` {strictness}. "
    if made.clevr is not None and not made.shares_clevr:
        text += (
            "By `--clevr` a train split would have scenes and images of CLEVR among its own; "
            "there is none in this folder, so nothing in it is CLEVR's. "
        )
    return text + "What is added to the folder has the same. "


def _taken(clevr: Mapping[str, object]) -> str:
    return (
        f"scenes of the pool `train`, at a share of {clevr['share']}, and their images are from CLEVR's "
        f"train split ({CLEVR}; CC BY 4.0; {number(int(str(clevr['scenes'])))} scenes, spread by a seeded "
        "permutation until they are used up)"
    )


def _renderers_licence(made: Provenance) -> str:
    """A sentence on what Blender's licence means for images, where it renders them."""
    if made.rendering is None or made.rendering.get("renderer", "blender") != "blender":
        return ""
    return "Blender, which renders images, puts no condition on them. "


def _rendering(made: Provenance) -> str:
    if made.rendering is None:
        return "not rendered"
    settings = ", ".join(f"{name} {value}" for name, value in made.rendering.items() if _is_plain(value))
    return escape(f"{listed(list(made.image_files))}: {settings}" if made.image_files else settings)


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool)
