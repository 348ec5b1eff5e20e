"""The page on which people answer, and their answers: made, answered by keyboard in a browser, and scored."""

import base64
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from clevrhope.__main__ import commands
from clevrhope.errors import ConfigError, DatasetError, PredictionsError
from clevrhope.metrics.answers import write_answers
from clevrhope.metrics.survey import write_survey
from clevrhope.replies.instructions import find_instruction
from waiting import HANG_S
from wording import check_refused

HOP = "rubber_cylinder"
N = 10
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
Rows = list[dict[str, Any]]


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(commands, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    return result


def lines(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small dataset `data`, the page of ten of its questions, and their requests."""
    folder = tmp_path_factory.mktemp("survey")
    sizes = "[sizes]\ntrain = 36\nval_iid = 9\ncomplex_iid = 18\ncomplex_ood = 12\nminimal_places = 2\n"
    (folder / "small.toml").write_text(sizes)
    build = ["build", "--hop", HOP, "--preset", "demo", "--config", folder / "small.toml", "--seed", 3]
    run(*build, "--renderer", "native", "--quality", "draft", "--out", folder / "data", "--quiet")
    ask = ["ask", folder / "data", "--split", "complex_ood", "--limit", N, "--seed", 1, "--quiet"]
    said = run(*ask, "--format", "html", "--out", folder / "page.html").output
    assert "page.html" in said
    assert "--requests" in said
    return folder


def page_data(page: Path) -> dict[str, Any]:
    match = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text("utf-8"), re.S
    )
    assert match is not None
    data: dict[str, Any] = json.loads(match[1])
    return data


def truths(survey: Path) -> dict[str, str]:
    """The right answer to each request."""
    made = json.loads((survey / "data/hops" / HOP / "complex_ood_questions.json").read_text("utf-8"))
    return {
        row["id"]: made["questions"][row["question_index"]]["answer"] for row in lines(survey / "page.jsonl")
    }


def test_the_page_has_the_requests_with_their_answers_and_each_image_once(survey: Path) -> None:
    data, requests = page_data(survey / "page.html"), lines(survey / "page.jsonl")
    assert len(data["questions"]) == len(requests) == N
    for asked, request in zip(data["questions"], requests, strict=True):
        assert (asked["id"], asked["question"]) == (request["id"], request["question"])
        assert truths(survey)[request["id"]] in asked["asked"]
        image = data["images"][asked["images"][0]].partition(",")[2]
        assert base64.b64decode(image) == (survey / request["image"]).read_bytes()
    assert len(data["images"]) == len({request["image"] for request in requests})
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", (survey / "page.html").read_text("utf-8"))


def test_nothing_in_a_question_is_run(survey: Path, tmp_path: Path) -> None:
    (row, *_) = lines(survey / "page.jsonl")
    hostile = '</script><script>alert("1")</script>'
    changed = {**row, "question": hostile, "id": hostile, "image": str(survey / row["image"])}
    (tmp_path / "r.jsonl").write_text(json.dumps(changed) + "\n")
    write_survey(tmp_path / "r.jsonl", tmp_path / "p.html", title=hostile, instructions=[hostile])
    assert hostile not in (tmp_path / "p.html").read_text("utf-8")
    assert page_data(tmp_path / "p.html")["questions"][0]["question"] == hostile


def test_requests_for_a_program_make_no_page(survey: Path, tmp_path: Path) -> None:
    ask = ["ask", survey / "data", "--split", "complex_ood", "--limit", 2, "--seed", 1, "--quiet"]
    run(*ask, "--out", tmp_path / "r.jsonl")
    check_refused(ConfigError, write_survey, tmp_path / "r.jsonl", tmp_path / "p.html", title="")


def test_instructions_of_ones_own(survey: Path, tmp_path: Path) -> None:
    path = tmp_path / "told.txt"
    path.write_text("Look well.\nTake your time.\n\n \nThank you.\n")
    ask = ["ask", survey / "data", "--split", "complex_ood", "--limit", 1, "--seed", 1, "--quiet"]
    run(*ask, "--format", "html", "--instruction", path, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<p>Look well. Take your time.</p>" in page
    assert "<p>Thank you.</p>" in page
    (row,) = lines(tmp_path / "page.jsonl")
    assert row["instruction"] == find_instruction(path).label
    assert "prompt" not in row


def test_an_image_that_is_missing_is_named(survey: Path, tmp_path: Path) -> None:
    (row, *_) = lines(survey / "page.jsonl")
    (tmp_path / "r.jsonl").write_text(json.dumps({**row, "image": "gone.png"}) + "\n")
    check_refused(DatasetError, write_survey, tmp_path / "r.jsonl", tmp_path / "p.html", title="")


def accuracy(survey: Path, predictions: Path) -> float:
    """What `score` makes of predictions, in percent."""
    scores = ["score", survey / "data", predictions, "--hop", HOP, "--partial", "--json", "--quiet"]
    (condition,) = json.loads(run(*scores).output)["conditions"]
    percent: float = condition["mean"]["splits"]["complex_ood"]["percent"]
    return percent


def saved(path: Path, answers: dict[str, str], person: str) -> Path:
    rows = [{"id": name, "reply": reply, "person": person} for name, reply in answers.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_majority_of_three_people_counts(survey: Path, tmp_path: Path) -> None:
    true = truths(survey)
    wrong = {name: "no" if answer == "yes" else "yes" for name, answer in true.items()}
    first, second, third, fourth = list(true)[:4]
    files = [
        saved(tmp_path / "a.jsonl", {**true, second: "ambiguous", third: "ambiguous"}, "Ada"),
        saved(tmp_path / "b.jsonl", {**true, first: wrong[first], third: "ambiguous"}, "Bo"),
        saved(tmp_path / "c.jsonl", {**true, fourth: wrong[fourth], second: wrong[second]}, "Cy"),
    ]
    out = tmp_path / "people.jsonl"
    found = json.loads(
        run("answers", *files, "--requests", survey / "page.jsonl", "--out", out, "--json").output
    )
    # The second question has three different replies, and most say that the third is ambiguous.
    assert (found["n_people"], found["n_answers"], found["n_ambiguous"], found["n_undecided"]) == (
        3,
        30,
        3,
        1,
    )
    assert found["unreadable"] == 2
    assert 0 < found["alpha"] < 1
    assert {row["model"] for row in lines(out)} == {"people"}
    assert accuracy(survey, out) == pytest.approx(100 * (N - 2) / N)


def test_answers_to_another_sample_or_twice_are_refused(survey: Path, tmp_path: Path) -> None:
    requests, out = survey / "page.jsonl", tmp_path / "people.jsonl"
    other = saved(tmp_path / "a.jsonl", {"rubber_cylinder/complex_ood/11@1": "yes"}, "Ada")
    check_refused(PredictionsError, write_answers, [other], requests, out, model="people")
    true = truths(survey)
    twice = [saved(tmp_path / name, true, "Ada") for name in ("b.jsonl", "c.jsonl")]
    check_refused(PredictionsError, write_answers, twice, requests, out, model="people")


@pytest.fixture(scope="module")
def open_page() -> Any:
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright, of the extra dev")
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=1000 * HANG_S)
        yield browser.new_page
        browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on this machine")
@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 900)])
def test_ten_questions_are_answered_by_keyboard(
    survey: Path, tmp_path: Path, open_page: Callable[..., Any], width: int, height: int
) -> None:
    true = truths(survey)
    page = open_page(viewport={"width": width, "height": height}, accept_downloads=True)
    page.set_default_timeout(1000 * HANG_S)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto((survey / "page.html").as_uri())
    page.keyboard.press("Tab")
    page.keyboard.type("Ada")
    page.keyboard.press("Enter")
    for number, request in enumerate(lines(survey / "page.jsonl"), 1):
        assert page.inner_text("#place").startswith(f"Question {number} of {N}")
        assert page.inner_text("#question") == request["question"]
        # A screen reader finds the question as the name of its answers, and a text for each image.
        assert page.get_by_role("group", name=request["question"]).is_visible()
        assert all(page.eval_on_selector_all("#images img", "all => all.map(each => each.alt)"))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if number == 2:
            page.keyboard.press("Enter")  # nothing was chosen
            assert "please choose" in page.inner_text("#place")
        choose(page, true[request["id"]], request["asked"])
        if number == 3:
            page.keyboard.press("Backspace")
            assert page.inner_text("#place").startswith("Question 2 ")
            page.keyboard.press("Enter")
        page.keyboard.press("Enter")
    page.wait_for_selector("#end:not([hidden])")
    with page.expect_download() as download:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
    replies = tmp_path / download.value.suggested_filename
    download.value.save_as(replies)
    page.close()
    assert problems == []
    assert replies.name == "answers_Ada.jsonl"
    assert {row["id"]: row["reply"] for row in lines(replies)} == true
    out = tmp_path / "people.jsonl"
    run("answers", replies, "--requests", survey / "page.jsonl", "--out", out)
    assert accuracy(survey, out) == 100


def choose(page: Any, answer: str, asked: list[str]) -> None:
    """Chooses an answer with the arrows and Space; the first one has the focus, and wraps to the last."""
    for _ in range(asked.index(answer)):
        page.keyboard.press("ArrowDown")
    if answer == asked[0]:
        page.keyboard.press("Space")


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on this machine")
@pytest.mark.slow
def test_episodes_with_their_support_are_answered_on_a_phone(
    tmp_path: Path, open_page: Callable[..., Any]
) -> None:
    data = tmp_path / "data"
    build = ["build", "--nonce", 18, "--seed", 3, "--renderer", "native", "--quality", "draft", "--quiet"]
    run(*build, "--out", data)
    ask = ["ask", data, "--nonce", "--format", "html", "--limit", 4, "--seed", 1, "--quiet"]
    run(*ask, "--out", tmp_path / "page.html")
    rows = [row for row in lines(tmp_path / "page.jsonl") if row["page"] == "B"]
    page = open_page(viewport={"width": 390, "height": 844}, accept_downloads=True)
    page.set_default_timeout(1000 * HANG_S)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto((tmp_path / "page_B.html").as_uri())
    page.keyboard.press("Tab")
    page.keyboard.type("Ada")
    page.keyboard.press("Enter")
    for number, row in enumerate(rows, 1):
        assert page.inner_text("#place").startswith(f"Question {number} of 8")
        said = page.locator("#context p, #context figcaption").all_inner_texts()
        assert said == [each["text"] for each in row["context"]]
        assert page.locator("#context img").count() == len(said) - 1
        assert all(page.eval_on_selector_all("#ask img", "all => all.map(each => each.alt)"))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        # Two support images stand side by side.
        tops = [page.locator("#context figure").nth(k).bounding_box()["y"] for k in (0, 1)]
        assert tops[0] == tops[1]
        choose(page, row["asked"][0], row["asked"])
        page.keyboard.press("Enter")
    with page.expect_download() as download:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
    download.value.save_as(tmp_path / "replies.jsonl")
    page.close()
    assert problems == []
    assert [row["id"] for row in lines(tmp_path / "replies.jsonl")] == [row["id"] for row in rows]
