"""The metadata of a Parquet export in Croissant's vocabulary, with its fields for responsible AI.

A record set is a split, read from the Parquet files beside croissant.json; `answers` of a config lists the
names of its answers by number. Publishers have to add their name, the date and the address.

Source: the specifications of Croissant 1.0 and of its RAI extension 1.0, MLCommons.
"""

import json
from typing import Any

from clevrhope.dataset.question_kinds import IMAGE, Field
from clevrhope.describe.making_and_licence import balancing
from clevrhope.export.columns import columns_of
from clevrhope.export.readme import TITLE, readme
from clevrhope.export.source import ExportSource, SplitSource
from clevrhope.pages import PAPER, read_page
from clevrhope.splits.hops import parse_hop

_TYPES = {IMAGE: "sc:ImageObject", "string": "sc:Text"}
"""Kind of a column -> its type; all others are numbers."""


def croissant_json(source: ExportSource) -> str:
    """The content of croissant.json."""
    texts = _texts(source)
    content = {
        "@context": json.loads(read_page("exports/croissant_context.json")),
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": TITLE,
        "description": texts.pop("description"),
        "license": "https://creativecommons.org/licenses/by/4.0/",
        "citeAs": PAPER,
        "inLanguage": "en",
        "keywords": ["visual question answering", "compositional generalisation", "systematicity", "CLEVR"],
        "version": f"{source.manifest.version}.0.0",
        **texts,
        "distribution": [_file_set(each) for each in (*source.splits, *source.suites)],
        "recordSet": [
            *(_answers(config, splits[0]) for config, splits in source.by_config().items()),
            *(_record_set(each) for each in (*source.splits, *source.suites)),
        ],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _texts(source: ExportSource) -> dict[str, str | list[str]]:
    """Key -> text or list, from the template exports/croissant.md."""
    attributes = list(source.manifest.world["attributes"].items())
    of_one = {split.split for split in source.splits if split.config == split.hop}
    text = readme(
        source,
        "croissant",
        hops=[parse_hop(name, attributes) for name in source.by_hop()],
        balancing=balancing(of_one).strip().replace("`", "") if of_one else "",
    )
    found: dict[str, str | list[str]] = {}
    for section in text.split("## ")[1:]:
        key, _, content = section.strip().partition("\n")
        lines = content.strip().splitlines()
        is_text = len(lines) == 1 and not lines[0].startswith("- ")
        found[key] = lines[0] if is_text else [line.removeprefix("- ") for line in lines]
    return found


def _name(split: SplitSource) -> str:
    return f"{split.config}/{split.split}"


def _file_set(split: SplitSource) -> dict[str, Any]:
    name = _name(split)
    return {
        "@type": "cr:FileSet",
        "@id": f"{name}-files",
        "name": f"{name}-files",
        "description": f"The Parquet files of {name}.",
        "encodingFormat": "application/x-parquet",
        "includes": f"{name}-*.parquet",
    }


def _record_set(split: SplitSource) -> dict[str, Any]:
    name = _name(split)
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"{len(split.reader):,} questions on {len(split.indices):,} scenes.",
        "field": [_field(name, column) for column in columns_of(split)],
    }


def _field(record_set: str, column: Field) -> dict[str, Any]:
    name = f"{record_set}/{column.name}"
    transform = {"transform": {"jsonPath": "bytes"}} if column.kind == IMAGE else {}
    return {
        "@type": "cr:Field",
        "@id": name,
        "name": column.name,
        "description": column.holds.replace("`", ""),
        "dataType": _TYPES.get(column.kind, "sc:Integer"),
        **({"repeated": True} if column.several else {}),
        "source": {
            "fileSet": {"@id": f"{record_set}-files"},
            "extract": {"column": column.name},
            **transform,
        },
    }


def _answers(config: str, split: SplitSource) -> dict[str, Any]:
    """The names of a config's answers, which its splits share."""
    name = f"{config}/answers"
    number, text = f"{name}/number", f"{name}/name"
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": "The names of answers by their label.",
        "dataType": "sc:Enumeration",
        "key": {"@id": number},
        "field": [
            {"@type": "cr:Field", "@id": number, "name": "number", "dataType": "sc:Integer"},
            {"@type": "cr:Field", "@id": text, "name": "name", "dataType": "sc:Text"},
        ],
        "data": [{number: k, text: answer} for k, answer in enumerate(split.answer_names)],
    }
