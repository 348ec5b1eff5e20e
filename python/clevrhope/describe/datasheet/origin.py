"""The sections of a datasheet on how a folder was made, and on its licence and maintenance."""

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
"""Credit for CLEVR's scenes and images, which their licence, CC BY 4.0, asks for."""


@dataclass(frozen=True)
class Provenance:
    """The software, settings and sources that a folder was made with."""

    dataset_version: str
    software_version: str
    seed: int
    world: Mapping[str, object]
    """Fingerprint and constraints of the world."""
    attributes: Mapping[str, Sequence[str]]
    """The world's attribute types with their values."""
    templates: Mapping[str, object]
    """Fingerprint and folder of the templates."""
    rendering: Mapping[str, object] | None
    """How images were rendered; None if none were."""
    image_files: Sequence[str]
    """The kinds of image files: "PNG", "HDF5"."""
    splits: Collection[str]
    """Names of all splits in the folder."""
    passes: Sequence[str] = ()
    """Annotations of each pixel: some of mask, depth and normal."""
    match: str = "none"
    """What is equally frequent in all splits: "none" or "objects"."""
    strictness: str = "description"
    """What pairs are held out of: "description", or "implied" for likenesses too."""
    clevr: Mapping[str, object] | None = None
    """Number, share and fingerprint of CLEVR's train scenes, if the folder is bound to them."""

    @property
    def shares_clevr(self) -> bool:
        """Whether the folder has scenes of CLEVR, which only the pool of train takes."""
        return self.clevr is not None and TRAIN.name in self.splits


def provenance_sections(made: Provenance) -> str:
    """How the folder was made, licensed and maintained, which is the same in each of its datasheets."""
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
            "Scenes are sampled at random under the constraints below; each depends on world, seed, pool and "
            "index alone. "
            + _questions(made.splits)
            + _binding(made)
            + (
                ""
                if made.rendering is None
                else f"Images are rendered from the scenes by {escape(made_by(made.rendering))}. "
            )
            + "No people took part; "
            + (
                "nothing was taken from elsewhere"
                if made.clevr is None or not made.shares_clevr
                else f"{_taken(made.clevr)}, nothing else was taken from elsewhere"
            )
            + ". The settings, the options of the command and the checksum of every file are in "
            "`manifest.json`. The same settings and seed give the same bytes, except that pixels may differ "
            "between machines.",
            table(["", "value"], rows),
            "## How is it distributed and kept?",
            "The data are under the Creative Commons Attribution licence, CC BY 4.0; clevrhope, which made "
            "them, is under the MIT licence. "
            + _renderers_licence(made)
            + "Whoever publishes a folder maintains it. More pairs and larger sizes can be added without "
            "changing what is there; a release that changed it would have another dataset version.",
        ]
    )


def _questions(splits: Collection[str]) -> str:
    """How questions are found, for the kinds of splits that the folder has."""
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
        begin = f"Those of {names} are not balanced: there" if streamed else f"In {names}"
        parts.append(f"{begin} the images of a group decide how frequent each answer is. ")
    return "".join(parts)


def _binding(made: Provenance) -> str:
    """The options that a folder is bound to, including defaults; another choice needs another folder."""
    match = (
        "scenes are thinned until all numbers of objects are equally likely in every split of whole scenes"
        if made.match == "objects"
        else "the numbers of objects are left as they are"
    )
    strictness = (
        "train and IID questions do not ask for a held-out pair through likenesses either"
        if made.strictness == "implied"
        else "no description in a train or IID question holds all values of a held-out pair"
    )
    text = f"With `--match {made.match}` {match}; with `--strictness {made.strictness}` {strictness}. "
    if made.clevr is not None and not made.shares_clevr:
        text += (
            "With `--clevr`, a train split would have scenes and images of CLEVR among its own; this folder "
            "has no train split, so nothing in it is CLEVR's. "
        )
    return text + "This also holds for whatever is added to the folder. "


def _taken(clevr: Mapping[str, object]) -> str:
    return (
        f"scenes of the pool `train`, at a share of {clevr['share']}, and their images are from CLEVR's "
        f"train split ({CLEVR}; CC BY 4.0; {number(int(str(clevr['scenes'])))} scenes, spread by a seeded "
        "permutation until they are used up)"
    )


def _renderers_licence(made: Provenance) -> str:
    """A sentence on what Blender's licence means for images, if it rendered them."""
    if made.rendering is None or made.rendering.get("renderer", "blender") != "blender":
        return ""
    return "The licence of Blender, which renders images, puts no conditions on them. "


def _rendering(made: Provenance) -> str:
    if made.rendering is None:
        return "not rendered"
    settings = ", ".join(f"{name} {value}" for name, value in made.rendering.items() if _is_plain(value))
    return escape(f"{listed(list(made.image_files))}: {settings}" if made.image_files else settings)


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool)
