"""The metadata of a Parquet export in Croissant's vocabulary, with its fields for responsible AI.

A record set is a split, read from the Parquet files beside croissant.json; `answers` of a config lists the
names of its answers by number. Publishers have to add their name, the date and the address.

Source: the specifications of Croissant 1.0 and of its RAI extension 1.0, MLCommons.
"""

import json
from typing import Any

from clevrhope.describe.provenance import balancing, made_from, shares_clevr
from clevrhope.export.columns import IMAGE, LABEL, Column, columns_of
from clevrhope.export.readme import TITLE
from clevrhope.export.source import Source, SplitSource
from clevrhope.images.rendering_record import made_by
from clevrhope.pages.citations import CLEVR, PAPER
from clevrhope.splits.hops import parse_hop
from clevrhope.version import software_version

_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The names that every Croissant file defines."""

_TYPES = {IMAGE: "sc:ImageObject", LABEL: "sc:Integer", "string": "sc:Text", "int32": "sc:Integer"}
"""Kind of a column -> its type."""


def croissant_json(source: Source) -> str:
    """The content of croissant.json."""
    content = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": TITLE,
        "description": "Visual question answering where one pair of attribute values is held out, made by "
        f"clevrhope from {made_from(source.manifest)}.",
        "license": "https://creativecommons.org/licenses/by/4.0/",
        "citeAs": PAPER,
        "inLanguage": "en",
        "keywords": ["visual question answering", "compositional generalisation", "systematicity", "CLEVR"],
        "version": f"{source.manifest.version}.0.0",
        **_responsible_ai(source),
        "distribution": [_file_set(each) for each in (*source.splits, *source.suites)],
        "recordSet": [
            *(_answers(config, splits[0]) for config, splits in source.by_config().items()),
            *(_record_set(each) for each in (*source.splits, *source.suites)),
        ],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _responsible_ai(source: Source) -> dict[str, Any]:
    """The manifest's facts on the data's origin, under the RAI extension's names."""
    manifest = source.manifest
    made = (
        f"Scenes were sampled at random by clevrhope, dataset version {manifest.version}, from "
        f"{made_from(manifest)}; "
    )
    if shares_clevr(manifest):
        made += f"a share of {manifest.world['clevr']['share']} of those of train is from {CLEVR}; "
    made += "questions were made from templates"
    if source.rendered and manifest.rendering is not None:
        made += f", and images were rendered from the scenes by {made_by(manifest.rendering)}"
    most = manifest.world["constraints"]["max_objects"]
    return {
        "rai:dataCollection": f"{made}.",
        "rai:dataAnnotationProtocol": [
            "An answer is that of the question's program, executed on the scenes. No people took part."
        ],
        "rai:machineAnnotationTools": [f"clevrhope {software_version()}"],
        "rai:dataPreprocessingProtocol": [
            "Questions are assembled from the dataset's tokens, with a question mark at the end."
        ],
        "rai:dataBiases": _biases(source),
        "rai:dataLimitations": [
            f"The images are renderings of scenes of at most {most} objects; none are photographs. The "
            "questions are English sentences from templates; none were written by people."
        ],
        "rai:dataUseCases": [
            "Training models on a train split, and measuring the systematicity gap: the accuracy on an ood "
            "split less that on its iid split.",
            "Neither settings nor checkpoints are to be chosen on test splits.",
        ],
        "rai:personalSensitiveInformation": ["None: the scenes are synthetic, and no people are in them."],
        "rai:dataReleaseMaintenancePlan": "Whoever publishes this export maintains it. A release that "
        "changed what is there would have another dataset version.",
    }


def _biases(source: Source) -> list[str]:
    """Sentences on what is left out or unbalanced on purpose."""
    attributes = list(source.manifest.world["attributes"].items())
    found = [
        f"{hop.name}: by design, train and the iid splits have no {hop.noun}, in images or in words."
        for hop in (parse_hop(name, attributes) for name in source.by_hop())
        if hop.held_out is not None
    ]
    of_one = {each.split for each in source.splits if each.config == each.hop}
    return [*found, *([balancing(of_one).strip().replace("`", "")] if of_one else [])]


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


def _field(record_set: str, column: Column) -> dict[str, Any]:
    name = f"{record_set}/{column.name}"
    transform = {"transform": {"jsonPath": "bytes"}} if column.kind == IMAGE else {}
    return {
        "@type": "cr:Field",
        "@id": name,
        "name": column.name,
        "description": column.holds.replace("`", ""),
        "dataType": _TYPES[column.kind],
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
        "description": "The names of answers by number.",
        "dataType": "sc:Enumeration",
        "key": {"@id": number},
        "field": [
            {"@type": "cr:Field", "@id": number, "name": "number", "dataType": "sc:Integer"},
            {"@type": "cr:Field", "@id": text, "name": "name", "dataType": "sc:Text"},
        ],
        "data": [{number: k, text: answer} for k, answer in enumerate(split.vocab.answers())],
    }
