"""The static export: the same pages as files, whose links all lead to files."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from building import Cli, stamps, tree
from site_client import HOP, SiteClient, links, text_of

from clevrhope.__main__ import run_command
from wording import check_words

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def exported(dataset: Path, predictions: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("static") / "pages"
    named = [word for path in predictions for word in ("--predictions", path)]
    command = ["browse", str(dataset), "--static", str(out), "--limit", "30", "--quiet", *named]
    assert run_command(command) == 0
    return out


def test_every_link_leads_to_a_file(exported: Path) -> None:
    n = 0
    for path in exported.rglob("*.html"):
        page = path.read_text()
        for address in (*links(page, ""), *re.findall(r'src="([^"]*)"', page)):
            parts = urlsplit(address)
            assert not parts.scheme + parts.netloc
            assert not parts.path.startswith("/")
            if parts.path:
                target = (path.parent / unquote(parts.path)).resolve()
                assert target.is_file(), (path, address)
                assert target.is_relative_to(exported)
            n += 1
    assert n > 1000


def test_so_many_questions_of_each_split_errors_first(exported: Path, dataset: Path) -> None:
    assert len([*(exported / "question" / HOP / "train").iterdir()]) == 30
    assert len([*(exported / "question" / HOP / "complex_ood").iterdir()]) == 12
    assert len([*(exported / "pair" / HOP / "carets" / "complex_iid").iterdir()]) == 30
    first = (exported / "questions" / HOP / "complex_iid" / "1.html").read_text()
    assert first.count('<li class="line">') == 25
    assert "result right" not in first.split("hostile")[0].split("<dd>")[1]
    second = (exported / "questions" / HOP / "complex_iid" / "2.html").read_text()
    assert second.count('<li class="line">') == 5
    assert "Page 2 of 2" in text_of(second)
    assert "<form" not in first


def test_no_page_waits_for_an_index_that_was_dropped(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """The lists of a dataset of many sub-datasets are written after all of their indexes were made."""
    monkeypatch.setattr("clevrhope.browse.index.INDEXES_KEPT", 1)
    cli("browse", dataset, "--static", tmp_path / "out", "--limit", "1", "--quiet")
    pages = [path.read_text() for path in (tmp_path / "out").rglob("*.html")]
    assert len(pages) > 20
    assert not any("Making the index" in page for page in pages)


def test_pages_are_those_of_the_server(exported: Path, compared: SiteClient) -> None:
    live = compared.get(f"question/{HOP}/complex_iid/3")
    page = (exported / "question" / HOP / "complex_iid" / "3.html").read_text()
    main = re.compile(r"<main.*?<section aria-labelledby=\"about\">", re.DOTALL)
    assert text_of(main.search(page)[0]) == text_of(main.search(live)[0])


def test_nothing_is_written_into_the_dataset(copy: Path, tmp_path: Path, cli: Cli) -> None:
    before = tree(copy), stamps(copy)
    cli("browse", copy, "--static", tmp_path / "out", "--limit", "1", "--quiet")
    assert (tree(copy), stamps(copy)) == before


@pytest.mark.parametrize("where", ["copy/pages", "full", "file"])
def test_a_place_that_does_not_do_is_a_sentence(copy: Path, tmp_path: Path, where: str, cli: Cli) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("")
    (tmp_path / "file").write_text("")
    before = set(tmp_path.iterdir())
    check_words(cli("browse", copy, "--static", tmp_path / where, "--quiet", code=1).err)
    assert set(tmp_path.iterdir()) == before


def test_a_damaged_file_leaves_a_sentence_in_the_pages(copy: Path, tmp_path: Path, cli: Cli) -> None:
    for path in (copy / "images" / "test_iid").glob("*.png"):
        path.write_bytes(b"no image")
    out = tmp_path / "out"
    said = cli("browse", copy, "--static", out, "--limit", "2", "--quiet")
    assert "not a whole PNG file" in said.err
    assert (out / "index.html").is_file()


def test_an_export_that_is_stopped_leaves_nothing(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    def stop(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("clevrhope.browse.static._made", stop)
    cli("browse", dataset, "--static", tmp_path / "out", "--quiet", code=130)
    assert [*tmp_path.iterdir()] == []


def test_limit_needs_static(dataset: Path, cli: Cli) -> None:
    assert "--limit is for --static" in cli("browse", dataset, "--limit", "3", code=2).err
