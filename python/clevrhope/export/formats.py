"""A format's name in, the function that writes it out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from clevrhope.export import clevr, coco, iep, parquet, webdataset
from clevrhope.export.source import Source
from clevrhope.runtime.progress import Advance

Write = Callable[[Source, Path, Advance], None]
"""Writes into an empty folder, and tells the number of questions done since the last time."""


@dataclass(frozen=True)
class Format:
    """One form of export."""

    write: Write
    prefer: str
    """The kind of image file that is the least work: "png" or "h5"."""
    one_hop: bool = False
    """The form has no place for a second HOP."""
    needs: str | None = None
    """A module that comes with the extra `export`."""


FORMATS: Mapping[str, Format] = {
    "parquet": Format(parquet.write, prefer="png", needs="pyarrow"),
    "webdataset": Format(webdataset.write, prefer="png"),
    "clevr": Format(clevr.write, prefer="png", one_hop=True),
    "iep": Format(iep.write, prefer="h5", one_hop=True),
    "coco": Format(coco.write, prefer="png", needs="pycocotools"),
}
"""parquet: Hugging Face datasets; webdataset: tar shards; clevr: the folders of CLEVR_v1.0; iep: the HDF5
files of the public CLEVR models; coco: instance masks and boxes."""
