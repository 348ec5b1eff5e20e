"""The tasks of an exported folder, without lmms-eval."""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from inspect_run import INSTRUCTION

pq = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: pip install 'clevrhope[export]'")
yaml = pytest.importorskip("yaml", reason="needs PyYAML, which Inspect brings")


class Task:
    """A task of an exported folder, whose functions are called as lmms-eval 0.7.3 calls them."""

    def __init__(self, folder: Path, name: str) -> None:
        spec = importlib.util.spec_from_file_location("utils", folder / "utils.py")
        assert spec is not None
        assert spec.loader is not None
        utils = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(utils)

        class Loader(yaml.SafeLoader):  # type: ignore[misc, name-defined]
            """Reads `!function utils.NAME` as that function."""

        Loader.add_constructor("!function", lambda _, node: getattr(utils, node.value.removeprefix("utils.")))
        self.config = yaml.load((folder / f"{name}.yaml").read_text(), Loader)
        data = folder / self.config["dataset_kwargs"]["data_files"]["test"]
        self.docs: list[Any] = rows_of(data) if data.suffix == ".jsonl" else pq.read_table(data).to_pylist()

    def items(self, reply: Callable[[str], str], docs: Sequence[Any]) -> dict[str, list[Any]]:
        """The items of each metric."""
        found: dict[str, list[Any]] = {}
        for doc in docs:
            for name, item in self.results(doc, reply(self.text(doc))).items():
                found.setdefault(name, []).append(item)
        return found

    def text(self, doc: Any) -> str:
        """What is asked, without the instruction."""
        text: str = self.config["doc_to_text"](doc, self.config["lmms_eval_specific_kwargs"]["default"])
        assert text.endswith(INSTRUCTION)
        return text.removesuffix(INSTRUCTION)

    def results(self, doc: Any, reply: str) -> dict[str, Any]:
        """The item of each metric, and what the log of samples has besides."""
        found: dict[str, Any] = self.config["process_results"](doc, [reply])
        return found

    def metrics(self, items: Mapping[str, Sequence[Any]]) -> dict[str, float]:
        """The value of each metric."""
        metrics = {each["metric"]: each["aggregation"] for each in self.config["metric_list"]}
        return {name: aggregation(items[name]) for name, aggregation in metrics.items()}


def rows_of(path: Path) -> list[Any]:
    """JSON lines as lmms-eval gets them: a key that only some objects of a list have is null in others."""
    import datasets

    cache = str(path.parent.with_name("cache"))
    return [*datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=cache)]
