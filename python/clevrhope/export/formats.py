"""The export formats by name."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clevrhope.export import clevr, coco, covr, lmms_eval, official, parquet, rl, webdataset
from clevrhope.export.source import ExportSource
from clevrhope.runtime.progress import Advance
from clevrhope.sources.official.names import PARQUET
from clevrhope.splits.covr.kinds import COVR_KINDS
from clevrhope.splits.kinds import SPLITS
from clevrhope.splits.nonce.kinds import NONCE_SPLITS

Write = Callable[[ExportSource, Path, Advance], None]
"""Writes into an empty folder, and reports the number of questions done since its last report."""


@dataclass(frozen=True)
class Format:
    """An export format."""

    write: Write
    prefer: str
    """The kind of image file that needs the least work: "png" or "h5"."""
    one_hop: bool = False
    """Whether the format can hold only one HOP."""
    needs: str | None = None
    """A module of the extra `export` that the format needs."""
    suites: bool = False
    """Whether the format supports suites of paired tests; other formats leave them out."""
    single: bool = True
    """Whether the format supports questions about one image."""
    sets: bool = False
    """Whether the format supports questions over several images."""
    splits: tuple[str, ...] = ()
    """The splits that the format has a place for; others are left out. Empty for all."""
    more: bool = False
    """Whether tables of the format can include masks, steps of answers, and episodes with their supports."""
    shards: bool = False
    """Whether a split is divided into files of a size that can be chosen."""
    scenes: bool = False
    """Whether the format needs scenes and programs, which an import may lack."""
    prompts: bool = False
    """Whether questions are followed by an instruction, and can be chosen by their level."""
    copies: bool = True
    """Whether splits and sets that share an image have a copy each; in other formats it is stored once."""


_TEST_SETS = (
    *(name for name, kind in SPLITS.items() if kind.role == "test"),
    *(name for name, kind in COVR_KINDS.items() if kind.role == "test"),
    *NONCE_SPLITS,
)

FORMATS: dict[str, Format] = {
    "parquet": Format(
        parquet.write, prefer="png", needs="pyarrow", suites=True, sets=True, more=True, shards=True
    ),
    "webdataset": Format(webdataset.write, prefer="png", suites=True, sets=True, shards=True),
    "clevr": Format(clevr.write, prefer="png", one_hop=True, scenes=True),
    "official": Format(official.write, prefer="png", needs="pyarrow", splits=tuple(PARQUET)),
    "coco": Format(coco.write, prefer="png", needs="pycocotools", scenes=True),
    "lmms-eval": Format(lmms_eval.write, prefer="png", needs="pyarrow", sets=True, splits=_TEST_SETS),
    "covr": Format(covr.write, prefer="png", single=False, sets=True, copies=False),
    "rl": Format(rl.write, prefer="png", needs="pyarrow", sets=True, scenes=True, prompts=True),
}
"""parquet: Hugging Face datasets; webdataset: tar shards; clevr: the folders of CLEVR_v1.0; official: the
Parquet and HDF5 files of the official CLEVR-HOPE; coco: instance masks and boxes; lmms-eval: tasks for
lmms-eval; covr: COVR's JSON lines; rl: Parquet for trainers that learn from rewards."""
