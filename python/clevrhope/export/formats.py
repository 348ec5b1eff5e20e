"""The export formats by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from clevrhope.export import clevr, coco, covr, iep, parquet, webdataset
from clevrhope.export.source import Source
from clevrhope.runtime.progress import Advance

Write = Callable[[Source, Path, Advance], None]
"""Writes into an empty folder, and reports the number of questions done since its last report."""


@dataclass(frozen=True)
class Format:
    """A form of export."""

    write: Write
    prefer: str
    """The kind of image file that takes the least work: "png" or "h5"."""
    one_hop: bool = False
    """The form has no place for a second HOP."""
    needs: str | None = None
    """A module of the extra `export` that the form needs."""
    suites: bool = False
    """The form has a place for suites of paired tests; others leave them out."""
    single: bool = True
    """The form has a place for questions about one image."""
    sets: bool = False
    """The form has a place for questions over several images."""
    masks: bool = False
    """The form has a place for masks of images, and is useful without them."""
    copies: bool = True
    """Splits and sets that share an image have a copy each; in other forms an image is there once."""


FORMATS: Mapping[str, Format] = {
    "parquet": Format(parquet.write, prefer="png", needs="pyarrow", suites=True, sets=True, masks=True),
    "webdataset": Format(webdataset.write, prefer="png", sets=True),
    "clevr": Format(clevr.write, prefer="png", one_hop=True),
    "iep": Format(iep.write, prefer="h5", one_hop=True),
    "coco": Format(coco.write, prefer="png", needs="pycocotools"),
    "covr": Format(covr.write, prefer="png", single=False, sets=True, copies=False),
}
"""parquet: Hugging Face datasets; webdataset: tar shards; clevr: the folders of CLEVR_v1.0; iep: the HDF5
files of the public CLEVR models; coco: instance masks and boxes; covr: COVR's JSON lines."""
