"""The settings that, with seed, world and templates, decide the scenes and questions of a folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

Strictness = Literal["description", "implied", "chain"]
"""What counts as asking for a held-out pair."""


def _setting(*, help: str, effects: Mapping[str, str], of_sets: bool = False, of_pairs: bool = False) -> Any:
    """A field with its help text for the command line, and for each value a clause on its effect.

    The first value is the default. A setting `of_sets` applies only to questions over several images, one
    `of_pairs` only to sub-datasets that hold a pair out.
    """
    metadata = {"help": help, "effects": effects, "of_sets": of_sets, "of_pairs": of_pairs}
    return field(default=next(iter(effects)), metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class QuestionSettings:
    """The value of each setting; a folder is bound to its own.

    A new setting needs a field here, and the code that uses it. The option of the command line, the key in
    settings files and in the manifest, the comparison with an existing folder, and the sentences of the plan
    and of datasheets are derived from the field.
    """

    strictness: Literal["description", "implied", "chain"] = _setting(
        help='implied: train and IID questions do not ask for the pair through "same color as" and the like '
        'either. chain: the pair is held out only of chains of filters, not across "or" and "and", as in the '
        "original.",
        effects={
            "description": "no description in a train or IID question holds all values of a held-out pair",
            "implied": "train and IID questions do not ask for a held-out pair through likenesses either",
            "chain": "no chain of filters in a train or IID question holds all values of a held-out pair; "
            'a description that passes through "or" or "and" may',
        },
    )
    minimal_pool: Literal["own", "shared"] = _setting(
        help="shared: all minimal sets show their objects at the same 40 places, as in the original.",
        effects={
            "own": "each grid, combination and copy of a minimal set has a place of its own",
            "shared": "all minimal sets show their objects at the same places, which also decide the wording",
        },
        of_pairs=True,
    )
    covr_hold: Literal["both", "words"] = _setting(
        help="words: a pair is held out of questions over several images, but not of their images.",
        effects={
            "both": "a pair is held out of images and questions where these are about several images",
            "words": "a pair is held out of questions about several images, but not of their images",
        },
        of_sets=True,
    )
    distractors: Literal["edited", "random"] = _setting(
        help="random: distractors of questions over several images are any images (COVR's easy variant).",
        effects={
            "edited": "distractors contradict a part of what a question about several images describes",
            "random": "distractors of questions about several images are any without what they describe",
        },
        of_sets=True,
    )

    @classmethod
    def choices(cls) -> dict[str, list[str]]:
        """The values that each setting can have, by name; the first is the default."""
        return {
            each.name: list(each.metadata["effects"]) for each in fields(cls) if "effects" in each.metadata
        }

    @classmethod
    def names_of_sets(cls) -> list[str]:
        """The settings that affect only questions over several images."""
        return [each.name for each in fields(cls) if each.metadata.get("of_sets")]

    @classmethod
    def names_of_pairs(cls) -> list[str]:
        """The settings that affect only sub-datasets that hold a pair out."""
        return [each.name for each in fields(cls) if each.metadata.get("of_pairs")]

    @classmethod
    def from_json(cls, recorded: Mapping[str, Any]) -> Self:
        """Reads the settings from a manifest's entry about questions, which leaves out defaults."""
        return cls(**{name: recorded[name] for name in cls.choices() if name in recorded})

    @staticmethod
    def option(name: str) -> str:
        """The command-line option for a setting."""
        return f"--{name.replace('_', '-')}"

    def changed_settings(self) -> dict[str, str]:
        """The settings that differ from their defaults, which a manifest records."""
        return {
            name: getattr(self, name)
            for name, (default, *_) in self.choices().items()
            if getattr(self, name) != default
        }

    def effect(self, name: str) -> str:
        """The effect of a setting, as a clause."""
        clauses: Mapping[str, str] = {each.name: each.metadata for each in fields(self)}[name]["effects"]
        return clauses[getattr(self, name)]
