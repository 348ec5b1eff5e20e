"""Other users, foreign pages, hostile text and links: none of them reaches more than the dataset."""

import re
import shutil
from html import escape
from pathlib import Path

import pytest
from building import stamps, tree
from site_client import HOP, TOKEN, SiteClient, links, make_client

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.loader import load

ADDRESSES = (
    "",
    f"questions?hop={HOP}&split=complex_iid",
    f"question/{HOP}/complex_iid/3",
    f"pairs/{HOP}/carets/complex_iid",
    f"pair/{HOP}/carets/complex_iid/0",
    "style.css",
    "script.js",
    "image/train/1.png",
    "nothing",
)


@pytest.mark.parametrize(
    "host", ["example.org", "127.0.0.1.example.org", "localhost@example.org", "0.0.0.0", ""]
)
def test_a_foreign_host_gets_403(client: SiteClient, host: str) -> None:
    for address in ADDRESSES:
        answer = client.raw.get(f"/{TOKEN}/{address}", headers={"Host": host})
        assert answer.status_code == 403
        assert "demo" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9000", "LOCALHOST", "[::1]:80"])
def test_this_machine_is_answered_at_any_port(client: SiteClient, host: str) -> None:
    assert client.raw.get(f"/{TOKEN}/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/style.css", "/other/", f"/{TOKEN}x/", f"/{TOKEN[:-1]}/", f"//{TOKEN}/", "/%00/"]
)
def test_nothing_is_answered_without_the_token(client: SiteClient, path: str) -> None:
    answer = client.raw.get(f"http://127.0.0.1:8765{path}")
    assert answer.status_code == 403
    assert "token" in answer.text
    assert HOP not in answer.text


def test_the_token_alone_leads_to_the_overview(client: SiteClient) -> None:
    answer = client.raw.get(f"/{TOKEN}", follow_redirects=True)
    assert answer.status_code == 200
    assert HOP in answer.text


@pytest.mark.parametrize("method", ["POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "FOO"])
def test_get_alone_is_answered(client: SiteClient, method: str) -> None:
    for address in ADDRESSES:
        answer = client.raw.request(method, f"/{TOKEN}/{address}")
        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET"


def test_every_answer_forbids_foreign_content_and_use(client: SiteClient) -> None:
    get, foreign = client.raw.get, "example.org"
    answers = [get(f"/{TOKEN}/{address}", headers={"Origin": f"http://{foreign}"}) for address in ADDRESSES]
    answers += [get("/"), get("/", headers={"Host": foreign}), client.raw.post(f"/{TOKEN}/")]
    for answer in answers:
        assert answer.headers["content-security-policy"].startswith("default-src 'self'; ")
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert "set-cookie" not in answer.headers


def test_pages_have_no_script_style_or_link_of_others(compared: SiteClient) -> None:
    for address in ADDRESSES[:5]:
        page = compared.get(address)
        (script,) = re.findall(r"<script[^>]*>", page)
        assert re.fullmatch(r'<script src="[./]*script\.js" defer>', script)
        own = page.replace("http://www.w3.org", "")
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|//", own)
        assert all(not each.startswith(("/", "http")) for each in links(page, ""))


def test_hostile_text_stays_text(compared: SiteClient) -> None:
    hostile = '<script>alert("a")</script>'
    for address in (f"questions?hop={HOP}&split=complex_iid&order=file", f"question/{HOP}/complex_iid/3"):
        page = compared.get(address)
        assert "<script>" not in page
        assert "&lt;script&gt;alert(" in page
        assert "<b>bold</b>" not in page
        assert "&lt;b&gt;bold&lt;/b&gt;" in page
    for name in ("words", "split", "hop", "outcome", "test", "order"):
        fields = {"hop": HOP, name: f"{hostile}'\"><img src=x>"}
        page = compared.raw.get(f"/{TOKEN}/questions", params=fields).text
        assert "<img src=x" not in page
        assert hostile not in page
    for address in (f"question/{escape(hostile)}/x/1", f"<svg onload=x>/{TOKEN}"):
        assert "<svg onload" not in compared.raw.get(f"/{TOKEN}/{address}").text


@pytest.mark.parametrize(
    "words",
    [
        *("'; DROP TABLE questions; --", "red) OR (cube", "words:red", "red*", "* * *", '"""'),
        *("\x00red", "%", "é 赤い \u202e", "a" * 5000),
    ],
)
@pytest.mark.slow
def test_no_words_are_a_query(client: SiteClient, dataset: Path, words: str) -> None:
    """Signs are no part of words; what is left is looked for, whatever it would mean elsewhere."""
    client.get(f"questions?hop={HOP}")  # the index is made
    asked = {"hop": HOP, "split": "train", "words": words}
    answer = client.raw.get(f"/{TOKEN}/questions", params=asked)
    assert answer.status_code == 200
    n = int(re.search(r"of ([\d,]+) questions", answer.text)[1].replace(",", ""))
    wanted = set(re.findall(r"\w+", words[:200].lower()))
    texts = [each["question_text"].lower() for each in load(dataset, HOP, "train", images=False, text=True)]
    fit = sum(wanted <= set(re.findall(r"\w+", text)) for text in texts)
    assert n == fit or (n < fit and ":" in words)  # words with a sign between them stand together


@pytest.mark.parametrize(
    "field", ["split", "family", "answer", "mention", "objects", "a", "b", "page", "at", "step"]
)
@pytest.mark.slow
def test_no_field_is_a_query(client: SiteClient, field: str) -> None:
    assert " questions" in client.get(f"questions?hop={HOP}")  # the index is made
    for value in ("1 OR 1=1", "-1", "1e9", "99999999999999999999", "1;--", "', '", "%00", "NaN"):
        params = {"hop": HOP, field: value}
        assert client.raw.get(f"/{TOKEN}/questions", params=params).status_code == 200
        assert client.raw.get(f"/{TOKEN}/question/{HOP}/complex_iid/3", params=params).status_code == 200


@pytest.mark.parametrize(
    "address",
    [
        "image/..%2f..%2fimages%2ftrain/1.png",
        "image/../../etc/passwd",
        "image/%2e%2e/1.png",
        "mask/..%2f..%2fx/1.png",
        "sketch/..%2fhops/1.svg",
        "question/..%2f..%2f/complex_iid/1",
        f"question/{HOP}/..%2ftrain/1",
        f"pairs/{HOP}/..%2f..%2fcarets/complex_iid",
        f"pair/{HOP}/%2e%2e/complex_iid/1",
        "files/style.css",
        "..%2fserver.py",
        "%2e%2e/manifest.json",
        "manifest.json",
    ],
)
def test_no_path_leads_elsewhere(client: SiteClient, address: str) -> None:
    answer = client.raw.get(f"http://127.0.0.1:8765/{TOKEN}/{address}")
    assert answer.status_code in (403, 404, 500)
    assert not answer.content.startswith(b"\x89PNG")
    said = ("There is no such", "links are not followed", "no questions of", "lacks the token")
    assert any(words in answer.text for words in said)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["image", "mask", "scenes", "questions", "suite", "vocab"])
def test_a_link_out_of_the_folder_is_not_followed(copy: Path, tmp_path: Path, kind: str) -> None:
    """What it leads to is a whole file of the kind that is asked for."""
    layout, outside = Layout(copy), tmp_path / "outside"
    outside.mkdir()
    index = min(int(path.stem.rpartition("_")[2]) for path in layout.images("test_iid").glob("*.png"))
    path, address = {
        "image": (layout.image("test_iid", index), f"image/test_iid/{index}.png"),
        "mask": (layout.passes_h5("test_iid"), f"mask/test_iid/{index}.png"),
        "scenes": (layout.scene_shard("test_iid", 0), f"sketch/test_iid/{index}.svg"),
        "questions": (layout.questions_h5(HOP, "complex_iid"), f"question/{HOP}/complex_iid/0"),
        "suite": (layout.suite_h5(HOP, "carets", "complex_iid"), f"pair/{HOP}/carets/complex_iid/0"),
        "vocab": (layout.vocab, f"question/{HOP}/complex_iid/0"),
    }[kind]
    assert make_client(copy).raw.get(f"/{TOKEN}/{address}").status_code == 200
    moved = outside / path.name
    shutil.move(path, moved)
    path.symlink_to(moved)
    answer = make_client(copy).raw.get(f"/{TOKEN}/{address}")
    assert answer.status_code == 500
    assert f"{path}: a link that leads out of {copy}" in answer.text


def test_names_of_families_are_not_read_through_a_link(copy: Path, tmp_path: Path) -> None:
    path, moved = Layout(copy).hop_measured(HOP), tmp_path / "measured.json"
    moved.write_bytes(path.read_bytes().replace(b'"zero_hop"', b'"elsewhere"'))
    path.unlink()
    path.symlink_to(moved)
    page = make_client(copy).get(f"questions?hop={HOP}")
    assert "elsewhere" not in page
    assert "a link that leads out of" in page


@pytest.mark.parametrize("kind", ["image", "mask", "sketch"])
def test_a_pool_without_a_name_has_nothing(client: SiteClient, kind: str) -> None:
    extension = "svg" if kind == "sketch" else "png"
    answer = client.raw.get(f"http://127.0.0.1:8765/{TOKEN}/{kind}/%00/1.{extension}")
    assert answer.status_code == 404


def test_a_link_within_the_folder_is_followed(copy: Path, tmp_path: Path) -> None:
    layout = Layout(copy)
    shutil.move(layout.images("test_iid"), copy / "elsewhere")
    layout.images("test_iid").symlink_to(copy / "elsewhere")
    index = min(int(path.stem.rpartition("_")[2]) for path in layout.images("test_iid").glob("*.png"))
    assert make_client(copy).raw.get(f"/{TOKEN}/image/test_iid/{index}.png").status_code == 200


@pytest.mark.slow
def test_nothing_in_the_folder_is_written(copy: Path, tmp_path: Path, predictions: list[str]) -> None:
    before = tree(copy), stamps(copy)
    client = make_client(copy, predictions)
    for address in ADDRESSES[:6]:
        client.get(address)
    for split in ("train", "covr_test", "minimal_ood"):
        page = client.get(f"question/{HOP}/{split}/1?masks=1")
        for kind, pool, index in re.findall(r'src="[./]*(image|mask|sketch)/([\w.]+)/(\d+)\.', page):
            client.get(f"{kind}/{pool}/{index}.{'svg' if kind == 'sketch' else 'png'}")
    assert (tree(copy), stamps(copy)) == before


@pytest.mark.parametrize("page", ["question/{0}/complex_iid/{1}", "image/train/{1}.png"])
def test_a_number_of_thousands_of_digits_is_of_no_page(client: SiteClient, page: str) -> None:
    address = page.format(HOP, "9" * 5_000)
    assert client.raw.get(f"http://127.0.0.1:8765/{TOKEN}/{address}").status_code == 404
