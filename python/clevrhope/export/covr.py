"""Export of questions over several images as the JSON lines of COVR (Bogin et al. 2021).

    <hop>/train.jsonl, val.jsonl, test.jsonl, ...   one question per line
    images/HOPE_<pool>_<i>.png                      the images, each once

A line has the keys that the reader in COVR's public code needs: `qid`, `utterance`, `scenes` (names of images
without their suffix, in the dataset's order, which is random), `answer` (true, false, a number or a name),
`program`, `pattern_name`, and `properties`, the names of the splits that hold the question out.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope._core import Programs, ProgramTokens
from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.layout import image_filename
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.errors import DatasetError, ProgramError
from clevrhope.export.readme import write_readme
from clevrhope.export.source import ExportSource, SplitSource
from clevrhope.runtime.digits import read_digits
from clevrhope.runtime.progress import Advance
from clevrhope.splits.covr.kinds import COVR_DEV, covr_file

PATTERNS: Mapping[str, str] = {
    "compare_count": "compare_count",
    "verify_quantifier": "quantifier",
    "verify_quantifier_attr": "quantifier_same_attr",
    "verify_same_attr": "specific_same_attr",
    "query_object": "query_object",
    "choose_object": "choose_object",
    "query_attr": "query_attr",
    "verify_attr": "verify_attr",
    "choose_attr": "choose_attr",
    "choose_relation": "choose_rel",
    "verify_logic": "multiple_ref",
    "verify_count": "verify_count_ref",
    "count": "count_ref",
    "verify_count_group_by": "verify_count_ref_group_by",
    "count_group_by": "count_ref_group_by",
}
"""Template -> its name in COVR's files."""

PROPERTIES: Mapping[str, str] = {
    "has-count": "has_count",
    "has-attr": "has_attribute",
    "has-groupby": "has_group_by",
    "has-logic": "has_logic",
    "has-logic-and": "has_logic_and",
    "has-quant": "has_quantifier",
    "has-quant-all": "has_quantifier_all",
    "compscope": "has_complex_quantifier_scope",
    "has-compar": "has_compare",
    "has-compar-more": "has_compare_more",
    "v-c": "rm_v_c",
    "num-3": "has_num_3",
    "num-3-ans-3": "has_num_3_ans_3",
    "sameattr-color": "has_same_attribute_color",
    "ans-num": "answer_number",
    "program": "program_1",
    "tpl-choose-object": "tpl_choose_object",
    "tpl-verify-attr": "tpl_verify_attribute",
    "tpl-verify-quantifier-attr": "tpl_verify_quantifier_attribute",
}
"""Property -> its name in COVR's files; other properties have none there."""

_ROWS_A_BLOCK = 4_096


def write(source: ExportSource, out: Path, advance: Advance) -> None:
    """Writes the questions of all splits, and their images."""
    for split in source.splits:
        folder = out / split.hop
        folder.mkdir(exist_ok=True)
        with (folder / f"{_file(split.split)}.jsonl").open("w", encoding="utf-8") as file:
            for line in _lines(source, split):
                file.write(f"{json.dumps(line, ensure_ascii=False)}\n")
                advance(1)
        if split.images is not None:
            _write_images(split, out / "images")
    first = source.splits[0]
    write_readme(source, out, "covr", file=f"{first.hop}/{_file(first.split)}.jsonl")


def _file(split: str) -> str:
    """The name of a split's file, by which COVR's reader distinguishes train, val and test."""
    return "val" if split == COVR_DEV else covr_file(split)


def _write_images(split: SplitSource, folder: Path) -> None:
    """Writes the images of a split that no earlier split had."""
    assert split.images is not None
    folder.mkdir(exist_ok=True)
    for index in split.indices.tolist():
        path = folder / image_filename(split.reader.pool, index)
        if not path.exists():
            path.write_bytes(split.images.png(index)())


def _lines(source: ExportSource, split: SplitSource) -> Iterator[dict[str, Any]]:
    reader, detokenizer = split.reader, Detokenizer(split.vocab)
    tokens = ProgramTokens(vocabulary_with(source.manifest.world["attributes"]), split.vocab.programs())
    names = [PROPERTIES.get(name) for name in reader.property_names]
    first = 0
    for block in reader.parts(_ROWS_A_BLOCK):
        try:
            programs = Programs.from_tokens(tokens, np.ascontiguousarray(block.programs))
        except ProgramError as error:
            raise DatasetError(f"{reader.path}: in the rows from {first} on: {error}") from error
        for k in range(len(block)):
            has = block.properties[k]
            yield {
                "qid": f"{reader.hop}-{_file(reader.split)}-{first + k}",
                "utterance": detokenizer.question(block.questions[k]),
                "scenes": [Path(image_filename(reader.pool, index)).stem for index in block.images_of(k)],
                "answer": _answer(detokenizer.answer(int(block.answers[k]))),
                "program": json.loads(programs.to_covr_json(k)),
                "pattern_name": PATTERNS[reader.templates[int(block.question_families[k])]],
                "properties": [name for name, one in zip(names, has, strict=True) if name and one == 1],
            }
        first += len(block)


def _answer(text: str) -> bool | int | str:
    """An answer in the form of COVR's files."""
    if text in ("yes", "no"):
        return text == "yes"
    number = read_digits(text)
    return text if number is None else number
