"""Published files in the place of a dataset: every command takes them, and writes nothing into them."""

import errno
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from building import Cli
from official_files import write_parquet

import clevrhope
from clevrhope.browse.folder import SiteFolder
from clevrhope.errors import DatasetError
from clevrhope.export import export
from clevrhope.runtime import assets
from wording import check_words


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_commands_take_published_files(
    dataset: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_parquet(dataset, tmp_path / "official")
    before = {path: path.read_bytes() for path in source.rglob("*") if path.is_file()}
    told = cli("audit", source)
    assert "published files, imported once into" in told.err
    assert "no faults were found" in told.out
    predictions = tmp_path / "majority.jsonl"
    again = cli("baseline", source, "--kind", "always_no", "--out", predictions)
    assert "published files" not in again.err
    scores = json.loads(cli("score", source, predictions, "--json", "--bootstrap", "0").out)
    assert "rubber_cylinder" in json.dumps(scores)
    assert (
        "the published files lack scenes (so no breakdown by objects or level)"
        in cli("score", source, predictions, "--bootstrap", "0").out
    )
    asked = cli("ask", source, "--out", tmp_path / "requests.jsonl", "--hop", "rubber_cylinder").out
    assert "168 requests" in asked
    cli("stats", source, "--hop", "rubber_cylinder")
    cli("info", source)
    cli("show", source, "--hop", "rubber_cylinder", "--split", "train", "--question", "3")
    served: list[Path] = []
    monkeypatch.setattr("clevrhope.browse.serving.serve", lambda folder, **_: served.append(folder))
    cli("browse", source)
    assert SiteFolder(served[0]).hops
    assert {path: path.read_bytes() for path in source.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("form", ["parquet", "webdataset", "official"])
def test_requests_of_an_export_are_those_of_its_dataset(
    form: str, dataset: Path, tmp_path: Path, cli: Cli
) -> None:
    """Asked of one, answered and scored on the other."""
    published = tmp_path / "export"
    export(dataset, published, format=form, hops=["rubber_cylinder"], splits=["complex_iid", "complex_ood"])
    for asked, scored in ((published, dataset), (dataset, published)):
        requests, replies, out = (tmp_path / f"{asked.name}_{name}.jsonl" for name in ("ask", "say", "out"))
        cli("ask", asked, "--hop", "rubber_cylinder", "--split", "complex_ood", "--out", requests)
        rows = [json.loads(line) for line in requests.read_text().splitlines()]
        replies.write_text("".join(f"{json.dumps({'id': row['id'], 'reply': 'yes'})}\n" for row in rows))
        cli("answers", replies, "--requests", requests, "--dataset", scored, "--out", out)
        chosen = ("--hop", "rubber_cylinder", "--partial", "--bootstrap", "0")
        assert "complex_ood" in cli("score", scored, out, *chosen).out
    part = published / "rubber_cylinder" / "complex_ood-00000-of-00001.parquet"
    if form == "parquet":  # a part has other numbers than the whole
        cli("answers", replies, "--requests", requests, "--dataset", part, "--out", out)
        part.rename(part := part.with_name("complex_ood-00000-of-00002.parquet"))
        said = cli("answers", replies, "--requests", requests, "--dataset", part, "--out", out, code=2).err
        assert "is about another dataset" in said


def test_what_is_not_known_is_not_said(dataset: Path, tmp_path: Path, cli: Cli) -> None:
    source = write_parquet(dataset, tmp_path / "official")
    cli("audit", source)
    check_words(cli("info", source).out.partition("Questions")[0])
    assert json.loads(cli("info", source, "--json").out)["seed"] is None
    check_words(cli("stats", source, "--hop", "rubber_cylinder", "--splits", "train", "--full").out)
    check_words(cli("verify", source, "--quiet").out)
    beside = cli("stats", dataset, "--against", source, "--hop", "rubber_cylinder").out
    assert "official train" in beside
    made = cli("baseline", source, "--kind", "coin", "--out", tmp_path / "coin.jsonl").out
    assert f"clevrhope score {source} " in made


def test_a_report_takes_published_files(dataset: Path, tmp_path: Path, cli: Cli) -> None:
    source, coin = write_parquet(dataset, tmp_path / "official"), tmp_path / "coin.jsonl"
    hop = ("--hop", "rubber_cylinder")
    cli("baseline", source, "--kind", "coin", "--out", coin, *hop)
    cli("report", f"coin={coin}", "--dataset", source, "--out", tmp_path / "report", *hop)
    assert "\ncoin,gap,complex,rubber_cylinder," in (tmp_path / "report" / "results.csv").read_text()


def test_a_cache_that_cannot_be_written_is_told(
    dataset: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_parquet(dataset, tmp_path / "official")
    (tmp_path / "cache").touch()
    check_words(cli("info", source, code=1).err)
    (tmp_path / "cache").unlink()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr("clevrhope.runtime.atomic._commit", full)
    check_words(cli("info", source, code=1).err)


def test_an_audit_in_place_reads_programs_with_templates(dataset: Path, tmp_path: Path, cli: Cli) -> None:
    source = write_parquet(dataset, tmp_path / "official")
    templates = assets.question_templates()
    by_words = json.loads(cli("audit", source, "--json").out)
    by_programs = json.loads(cli("audit", source, "--templates", templates, "--json").out)
    checks = [
        {check["name"]: check for check in report["checks"]}["pair by chains"]
        for report in (by_words, by_programs)
    ]
    assert [check["result"] for check in checks] == ["not done", "passed"]
    assert checks[1]["checked"] > 0
    path = source / "HOP00" / "test_complex_ood-00000-of-00001.parquet"
    table = pq.read_table(path)
    texts = ["What is it that is near the rubber cylinder?", *table["query"].to_pylist()[1:]]
    pq.write_table(table.set_column(1, "query", pa.array(texts)), path)
    for _ in range(2):  # also from the cache
        told = cli("audit", source, "--templates", templates).out
        assert told.count("texts that fit none of the templates, and so have no program: 1\n") == 1
    out = tmp_path / "out"
    cli("import", source, "--out", out, "--hop", "rubber_cylinder")
    for option in ("--templates", "--properties", "--against"):
        check_words(cli("audit", out, option, templates, code=2).err)


def test_one_file_and_a_folder_of_another_kind(dataset: Path, tmp_path: Path, cli: Cli) -> None:
    export(dataset, tmp_path / "export", format="parquet", hops=["rubber_cylinder"])
    path = tmp_path / "export" / "rubber_cylinder" / "minimal_ood-00000-of-00001.parquet"
    assert "no faults were found" in cli("audit", path).out
    (tmp_path / "notes").mkdir()
    assert "not a dataset of clevrhope" in cli("audit", tmp_path / "notes", code=2).err


def test_python_is_told_to_import_them(dataset: Path, tmp_path: Path) -> None:
    source = write_parquet(dataset, tmp_path / "official")
    with pytest.raises(DatasetError, match="published files, not a dataset of clevrhope; import them first"):
        clevrhope.load(source, "rubber_cylinder", "train")


def test_a_model_is_trained_on_published_files(dataset: Path, tmp_path: Path, cli: Cli) -> None:
    """On images as they are, for two updates, and evaluated on the test sets."""
    source = tmp_path / "export"
    export(dataset, source, format="official", hops=["rubber_cylinder"])
    cli("features", source, "--kind", "pixels", "--size", "48x32")
    run, choices = (
        tmp_path / "run",
        [
            "--set",
            "image_width=48",
            "--set",
            "image_height=32",
            "--size",
            "100",
            "--updates",
            "4",
            "--seed",
            "1",
            "--device",
            "cpu",
        ],
    )
    cli(
        "train",
        "film",
        source,
        "--hop",
        "rubber_cylinder",
        "--out",
        run,
        "--set",
        "features=pixels",
        *choices,
    )
    assert "complex_ood" in cli("evaluate", run, "--device", "cpu").out
    assert "complex_ood" in cli("evaluate", run, "--device", "cpu", "--dataset", source).out
