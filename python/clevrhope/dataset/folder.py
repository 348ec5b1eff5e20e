"""A dataset's folder, opened: its manifest, and its vocabulary, values and world when they are asked for."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from clevrhope._core import Vocabulary, World
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest, check_no_part, existing_manifest
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.dataset.vocab import Vocab, read_vocab, vocab_digest
from clevrhope.errors import DatasetError
from clevrhope.runtime.json_text import as_json_values
from clevrhope.scenes import read_world
from clevrhope.splits.hops import Hop, parse_hop
from clevrhope.splits.kinds import TRAIN
from clevrhope.splits.palettes import parse_pool_name


class Folder:
    """A dataset that `clevrhope build` wrote: the `layout` of its files and its `manifest`."""

    def __init__(self, layout: Layout, manifest: Manifest) -> None:
        self.layout, self.manifest = layout, manifest

    @classmethod
    def open(cls, root: Path, *, finished: bool = True) -> Self:
        """Reads the manifest of a whole dataset.

        Args:
            root: the dataset's folder.
            finished: whether the dataset must be finished.

        Raises:
            WrongFolderError: the folder is not a dataset.
            DatasetError: the manifest is broken, or the dataset is not finished, or only one machine's part.
        """
        layout = Layout(root)
        manifest = existing_manifest(layout.manifest)
        check_no_part(manifest, root)
        if finished and not manifest.complete:
            raise DatasetError(f"{root}: not finished yet; run the dataset's build again to finish it")
        return cls(layout, manifest)

    def __repr__(self) -> str:
        return f"<{self.layout.root}: {self.manifest!r}>"

    @property
    def root(self) -> Path:
        """The folder itself."""
        return self.layout.root

    @property
    def title(self) -> str:
        """The folder as users know it: of an import in the user's cache, the published files."""
        source = self.manifest.source or {}
        return str(source["root"] if source.get("in_place") else self.root)

    @property
    def attributes(self) -> Mapping[str, Sequence[str]]:
        """The attribute types of the dataset's world, with their values."""
        attributes: Mapping[str, Sequence[str]] = self.manifest.world["attributes"]
        return attributes

    @property
    def attribute_types(self) -> list[tuple[str, Sequence[str]]]:
        """Each attribute type with its values, as `World.attribute_types` lists them."""
        return list(self.attributes.items())

    @cached_property
    def vocab(self) -> Vocab:
        """The numbers of words, functions and answers; raises the errors of `read_vocab`."""
        return read_vocab(self.layout.vocab)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The values of scenes and programs, with no look."""
        return vocabulary_with(
            self.attributes, largest_count=self.manifest.world["constraints"]["max_objects"]
        )

    def hop(self, name: str) -> Hop:
        """A HOP by its name; raises a ConfigError if the name means nothing with the dataset's values."""
        return parse_hop(name, self.attribute_types)

    def has_scenes(self, pool: str) -> bool:
        """Whether a pool should have scenes; those of an imported one may not be published."""
        return not self.manifest.source or self.layout.scenes(pool).is_dir()

    def world(self, properties: Path | None = None) -> World:
        """The world of the scenes, without palettes.

        Args:
            properties: the properties that the dataset was made with; None for the package's.

        Raises:
            DatasetError: it was made with other properties or another look.
        """
        recorded = self.manifest.world
        world = read_world(
            properties=properties, constraints=recorded["constraints"], changes=recorded.get("look")
        )
        if world.fingerprint != recorded["fingerprint"]:
            name = self.manifest.config.get("properties", "properties.json")
            raise DatasetError(
                f"{self.layout.manifest}: the dataset was made with other properties than those of "
                f"{properties or 'the package'}; name the folder's {name} with --properties"
            )
        return world


def identity(manifest: Manifest, vocab: Vocab, *, hop: str, images: bool) -> dict[str, Any]:
    """The identity of a sub-dataset, to which a trained run is bound, in values that JSON can store.

    Sizes and test sets are left out: they can grow, and a run uses the first questions of train.

    Args:
        manifest: the dataset's manifest.
        vocab: the dataset's vocabulary.
        hop: the sub-dataset, by its name in the manifest.
        images: whether images are part of the identity.
    """
    train = manifest.splits.get(hop, {}).get(TRAIN.name, {})
    _, palette = parse_pool_name(str(train.get("pool", "")))
    found = {
        "version": manifest.version,
        "seed": manifest.seed,
        "world": manifest.world["fingerprint"],
        "templates": manifest.templates["fingerprint"],
        "questions": manifest.questions,
        "palette": manifest.palettes.get(palette),
        "rendering": manifest.rendering if images else None,
        "vocab": vocab_digest(vocab),
    }
    if manifest.source:  # imports have no seed by which they differ
        found["train_sha256"] = manifest.source["splits"].get(f"{hop}/{TRAIN.name}")
    return dict(as_json_values(found))
