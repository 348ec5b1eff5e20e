"""The notebook of the docs runs as it stands, and shows what it says."""

import json
import os
from ast import literal_eval
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import clevrhope
from waiting import HANG_S

DOCS = Path(__file__).parents[2] / "docs"

# What Jupyter's own libraries warn of is not ours to mend.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels import the package that these tests import."""
    monkeypatch.setenv("PYTHONPATH", str(Path(clevrhope.__file__).parents[1]), prepend=os.pathsep)


def run(notebook: Any, folder: Path) -> list[Any]:
    """The code cells after they have run."""
    client = NotebookClient(
        notebook,
        timeout=HANG_S,
        startup_timeout=HANG_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    return [cell for cell in client.execute().cells if cell.cell_type == "code"]


def output_of(cells: list[Any], source: str) -> dict[str, str]:
    """What the cell with this source gave, by media type; printed text is plain text too."""
    (cell,) = (each for each in cells if source in each.source)
    (output,) = cell.outputs
    return dict(output["data"]) if "data" in output else {"text/plain": output["text"]}


@pytest.mark.usefixtures("packages")
def test_the_notebook_runs_and_shows_what_it_says(tmp_path: Path) -> None:
    notebook = nbformat.read(DOCS / "notebook.ipynb", as_version=4)
    assert all(cell.get("outputs", []) == [] for cell in notebook.cells), (
        "clear the outputs before committing"
    )
    cells = run(notebook, tmp_path)
    scene = output_of(cells, "sample_scenes([3]")
    assert scene["text/plain"] == "Scene(8 objects)"
    assert {"text/html", "image/svg+xml"} <= scene.keys()
    assert "image/png" in output_of(cells, "scene.render()")
    assert output_of(cells, "questions = ")["text/plain"].count("Question(") == 5
    (program,) = (cell for cell in cells if cell.source == "questions[0].program")
    assert "image/svg+xml" in program.outputs[0]["data"]
    assert output_of(cells, "by_hand")["text/plain"] == "'red'"
    with_pair = json.loads(output_of(cells, "has_pair = ")["text/plain"])
    assert 0 < len(with_pair) < 20
    assert "<table>" in output_of(cells, "clevrhope.trace(has_pair")["text/html"]
    for split in ("train", "ood"):
        assert "data:image/png;base64" in output_of(cells, f"{split}.show(0)")["text/html"]
    counts = literal_eval(output_of(cells, "for split in (train, ood)")["text/plain"])
    assert counts["train"] == (0, counts["train"][1])
    assert counts["complex_ood"][0] == counts["complex_ood"][1] > 0
    assert output_of(cells, "computed == ")["text/plain"] == "True"
