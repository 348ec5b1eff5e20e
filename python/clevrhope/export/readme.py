"""The README.md of an export: its content, how to load it, how it was made, license and citation."""

from dataclasses import replace
from pathlib import Path

from clevrhope.describe.datasheet import covr
from clevrhope.describe.datasheet.origin import CLEVR, PAPER, made_from, provenance_sections, shares_clevr
from clevrhope.describe.markdown import table
from clevrhope.export.source import SetSource, Source

ABOUT = """\
Visual question answering where one pair of attribute values is held out: a model that has met rubber things
and cylinders, but never a rubber cylinder, in images or in words, is asked about rubber cylinders. The gap in
systematicity is the accuracy on an `ood` split less that on its `iid` split. Tune on none of them.
"""
"""The purpose of the dataset."""


def write_readme(source: Source, out: Path, *, form: str, files: str, snippet: str) -> None:
    """Writes the README of a format that has no card of its own.

    Args:
        source: the exported data.
        out: the export's folder.
        form: the kind of files, as the end of the title.
        files: the content of the files, in Markdown.
        snippet: a Python script that reads the first split, to be run in the folder.
    """
    (out / "README.md").write_text(
        f"""# CLEVR-HOPE as {form}

{ABOUT}{text_only(source)}
{splits_table(source, "HOP")}

## Which files are there?

{files.strip()}

`source.json` says from which dataset the files were exported.

## How is it loaded?

In this folder:

```python
{snippet.strip()}
```

{origin(source)}""",
        "utf-8",
    )


def text_only(source: Source) -> str:
    """A sentence for exports without images."""
    return "" if source.rendered else "\nText only: the dataset was exported without images.\n"


def splits_table(source: Source, group: str) -> str:
    """A table of the sizes of all exported splits and suites; `group` heads the first column."""
    rows = [
        (each.config, each.split, f"{len(each.reader):,}", f"{len(each.indices):,}")
        for each in (*source.splits, *source.suites)
    ]
    return table((group, "split", "questions", "scenes"), rows)


def origin(source: Source) -> str:
    """How the dataset was made, its license, and what to cite."""
    cited = [f"The design is that of {PAPER}."]
    if any(isinstance(each, SetSource) for each in source.splits):
        cited.append(f"Questions over several images follow {covr.PAPER}.")
    if shares_clevr(source.manifest):
        cited.append(f"Some scenes and images are from {CLEVR}.")
    # Exports from PNG files and from HDF5 are the same.
    sections = provenance_sections(replace(source.manifest, pools={}))
    return f"""\
The following sections are about the dataset that was exported; `manifest.json` is a file of its folder.

{sections}

## What is to be cited?

{" ".join(cited)} The dataset was made by `clevrhope` from {made_from(source.manifest)}.
"""
