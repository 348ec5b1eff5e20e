"""A small dataset built by hand for the check for leaks, which tests spoil before they write it."""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.audit.leaks.report import LeakReport
from clevrhope.dataset.vocab import Vocab, make_vocab, write_vocab
from clevrhope.splits.hops import Hop

HOP = Hop("rubber_cylinder", (("material", "rubber"), ("shape", "cylinder")), 6)
POOLS = {
    "train": "train",
    "complex_iid": "test_iid",
    "complex_ood": "test_ood",
    "minimal_iid": "minimal_material_shape",
    "minimal_ood": "minimal_material_shape",
}
VALUES = {
    "size": "small large",
    "color": "red gray blue cyan brown",
    "material": "rubber metal",
    "shape": "cube cylinder sphere",
}
# As in a real folder, the vocabulary has all values of the world, asked for or not.
VALUE_TOKENS = {f"filter_{kind}[{value}]" for kind, values in VALUES.items() for value in values.split()}
Row = dict[str, Any]


def step(function: str, *values: str, inputs: list[int]) -> Row:
    return {"function": function, "value_inputs": list(values), "inputs": inputs}


def chain(*functions: str) -> list[Row]:
    """A program without branches: each step takes the one before; "filter_color red" is a filter."""
    return [step(*f.split(), inputs=[k - 1] if k else []) for k, f in enumerate(("scene", *functions))]


def scene(pool: str, index: int, *objects: str, row: float | None = None) -> Row:
    """Objects ("small red rubber cube") from left to right, in a row of the scene's own if none is given."""
    n = len(objects)
    values = [
        dict(zip(("size", "color", "material", "shape"), each.split(), strict=True)) for each in objects
    ]
    places = [{"3d_coords": [i, index if row is None else row, 0.7], "rotation": 45.0} for i in range(n)]
    left, right = [list(range(i)) for i in range(n)], [list(range(i + 1, n)) for i in range(n)]
    return {
        "image_index": index,
        "image_filename": f"HOPE_{pool}_{index:06d}.png",
        "objects": [{**each, **place} for each, place in zip(values, places, strict=True)],
        "relationships": {"left": left, "right": right, "behind": left, "front": right},
    }


@dataclass
class Dataset:
    """A folder's content, to be spoilt and written."""

    scenes: dict[str, list[Row]] = field(default_factory=dict)
    questions: dict[str, list[Row]] = field(default_factory=dict)
    spoil_arrays: Callable[[str, dict[str, Any]], None] = lambda split, arrays: None
    same_bytes: bool = False
    strictness: str = "description"

    def ask(self, split: str, index: int, question: str, answer: str, program: list[Row]) -> None:
        self.questions.setdefault(split, []).append(
            {
                "split": split,
                "image_index": index,
                "image_filename": f"HOPE_{POOLS[split]}_{index:06d}.png",
                "question": question,
                "answer": answer,
                "program": deepcopy(program),
                "question_family_index": 85,
            }
        )

    def write(self, root: Path) -> None:
        vocab = self.vocab()
        for pool, rows in self.scenes.items():
            write_json(root / "scenes" / pool / "0000.json", {"info": {}, "scenes": rows})
        for split, rows in self.questions.items():
            folder = root / "hops" / HOP.name
            write_json(folder / f"{split}_questions.json", {"info": {}, "questions": rows})
            arrays = self.arrays(rows, vocab)
            self.spoil_arrays(split, arrays)
            with h5py.File(folder / f"{split}.h5", "w") as file:
                file.attrs.update({"hop": HOP.name, "split": split, "pool": POOLS[split]})
                for name, values in arrays.items():
                    file[name] = np.array(values, dtype=np.int32)
        write_vocab(root / "vocab.json", vocab)
        names = sorted(
            f"images/{pool}/{row['image_filename']}" for pool, rows in self.scenes.items() for row in rows
        )
        sums = {name: {"bytes": 0, "sha256": "same" if self.same_bytes else name} for name in names}
        write_json(root / "manifest.json", {"files": sums, "questions": {"strictness": self.strictness}})

    def vocab(self) -> Vocab:
        rows = [row for rows in self.questions.values() for row in rows]
        return make_vocab(
            {token for row in rows for token in tokens(row["question"])},
            VALUE_TOKENS.union(*(prefix(row["program"]) for row in rows)),
            {*(row["answer"] for row in rows), *map(str, range(11)), "maybe"},
        )

    @staticmethod
    def arrays(rows: list[Row], vocab: Vocab) -> dict[str, Any]:
        words, functions = vocab.question_token_to_idx, vocab.program_token_to_idx
        questions = [[1, *(words[t] for t in tokens(row["question"])), 2] for row in rows]
        programs = [[1, *(functions[t] for t in prefix(row["program"])), 2] for row in rows]
        return {
            "questions": [each + [0] * (40 - len(each)) for each in questions],
            "question_lengths": [len(each) for each in questions],
            "programs": [each + [0] * (30 - len(each)) for each in programs],
            "program_lengths": [len(each) for each in programs],
            "answers": [vocab.answer_token_to_idx[row["answer"]] for row in rows],
            "image_idxs": [row["image_index"] for row in rows],
            "orig_idxs": list(range(len(rows))),
            "question_families": [row["question_family_index"] for row in rows],
        }


def tokens(question: str) -> list[str]:
    return question.replace("?", "").replace(";", " ;").split()


def prefix(program: list[Row], at: int = -1) -> list[str]:
    last = program[at]
    name = f"{last['function']}[{last['value_inputs'][0]}]" if last["value_inputs"] else last["function"]
    return [name, *(token for i in last["inputs"] for token in prefix(program, i))]


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


RUBBER = "filter_material rubber"
CYLINDER = "filter_shape cylinder"
LEFT_OF_CYLINDER = chain(CYLINDER, "unique", "relate left", RUBBER, "count")


def clean() -> Dataset:
    """A folder in order: every split, images with several questions, a program with a branch."""
    data = Dataset()
    data.scenes["train"] = [
        scene("train", 0, "small red rubber cube", "large gray metal cylinder", "small cyan rubber sphere"),
        scene("train", 3, "large blue metal cylinder", "small red metal cube", "large red rubber sphere"),
    ]
    data.scenes["test_iid"] = [scene("test_iid", 0, "small blue rubber cube", "large cyan metal cylinder")]
    data.scenes["test_ood"] = [
        scene("test_ood", 1, "small red rubber cylinder", "large gray metal cube", "small gray rubber cube"),
        scene(
            "test_ood", 2, "large cyan metal sphere", "large brown rubber cylinder", "small gray metal sphere"
        ),
    ]
    corners = [
        f"small red {material} {shape}" for material in ("rubber", "metal") for shape in ("cylinder", "cube")
    ]
    data.scenes["minimal_material_shape"] = [
        scene("minimal_material_shape", index, each, row=0.0) for index, each in enumerate(corners)
    ]
    question = "How many matte things are left of the cylinder?"
    data.ask("train", 0, question, "1", LEFT_OF_CYLINDER)
    data.ask(
        "train",
        0,
        "What color is the metallic thing?",
        "gray",
        chain("filter_material metal", "unique", "query_color"),
    )
    either = [
        *chain(CYLINDER),
        step("scene", inputs=[]),
        step("filter_shape", "cube", inputs=[2]),
        step("union", inputs=[1, 3]),
        step("filter_material", "metal", inputs=[4]),
        step("count", inputs=[5]),
    ]
    data.ask("train", 3, "How many shiny things are either cylinders or blocks?", "2", either)
    data.ask("complex_iid", 0, question, "1", LEFT_OF_CYLINDER)
    asked = "There is a matte cylinder; what color is it?"
    for index, answer in ((1, "red"), (2, "brown")):
        data.ask("complex_ood", index, asked, answer, chain(RUBBER, CYLINDER, "unique", "query_color"))
    for index in range(4):
        answer = "yes" if index == 0 else "no"
        data.ask(
            "minimal_ood", index, "Are there any rubber cylinders?", answer, chain(RUBBER, CYLINDER, "exist")
        )
    for index in range(1, 4):
        program = chain("filter_material metal", CYLINDER, "exist")
        data.ask("minimal_iid", index, "Is there any shiny cylinder?", "yes" if index == 2 else "no", program)
    return data


def report_on(data: Dataset, root: Path) -> LeakReport:
    data.write(root)
    return LeakCheck(root).check(HOP)


def wrong_answer(data: Dataset) -> None:
    data.questions["train"][2]["answer"] = "1"
