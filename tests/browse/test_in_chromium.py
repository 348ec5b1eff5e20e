"""The pages in Chromium: clicks, keys, narrow and dark screens, and what screen readers find."""

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from site_client import HOP, TOKEN

from chromium import NEEDS_CHROMIUM, SCREENS, open_page, photograph, worst_contrast
from clevrhope.browse.folder import SiteFolder
from clevrhope.browse.models import read_models
from clevrhope.browse.server import Site, application
from clevrhope.browse.serving import bound
from clevrhope.runtime.progress import Silent
from waiting import wait_until

__all__ = ["open_page"]

pytestmark = [NEEDS_CHROMIUM, pytest.mark.slow]

QUESTION = f"question/{HOP}/complex_iid/20"


@pytest.fixture(scope="module")
def address(dataset: Path, predictions: list[str]) -> Iterator[str]:
    """Of a running server with two models."""
    folder = SiteFolder(dataset)
    models = read_models(predictions, folder)
    site = Site(folder, models, predictions=predictions, progress=Silent())
    config = uvicorn.Config(application(site, TOKEN), log_level="error", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    with bound(0, print) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        wait_until(lambda: server.started, "the server starts")
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/{TOKEN}/"
        server.should_exit = True
        thread.join()


@pytest.fixture
def page(open_page: Callable[..., Any]) -> Iterator[Any]:
    """A wide page, on which no script may fail and nothing may be refused."""
    made = open_page(viewport={"width": 1280, "height": 900})
    problems: list[str] = []
    made.on("pageerror", lambda error: problems.append(str(error)))
    made.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    yield made
    made.close()
    assert problems == []


def lit(page: Any) -> set[str]:
    return set(page.eval_on_selector_all("g.box.lit", "all => all.map(each => each.dataset.object)"))


def follow(page: Any, element: Any) -> None:
    """Clicks something that leads to another page, and waits for that page; a click alone doesn't wait."""
    with page.expect_navigation():
        element.click()


def open_list(page: Any, address: str, query: str) -> None:
    """Opens a list; its index may have to be made first."""
    page.goto(f"{address}questions?{query}")
    page.wait_for_selector("p.count")


def test_clicks_lead_from_the_overview_to_a_step(page: Any, address: str) -> None:
    page.goto(address)
    follow(page, page.get_by_role("link", name="complex_iid", exact=True).first)
    page.wait_for_selector("ol.lines")
    page.get_by_label("Order").select_option("file")
    follow(page, page.get_by_role("button", name="Show"))
    follow(page, page.locator("ol.lines a").nth(20))
    assert "question/rubber_cylinder/complex_iid/20" in page.url
    steps = page.locator("a.step")
    objects = [set(steps.nth(k).get_attribute("data-objects").split()) for k in range(steps.count())]
    assert any(objects)
    for number in range(steps.count()):
        steps.nth(number).click()
        assert lit(page) == objects[number]
        assert f"step={number}" in page.url
        assert page.get_by_role("status").first.text_content().startswith(f"Step {number}: ")
    page.reload()
    assert lit(page) == objects[-1]


def test_hovering_shows_a_step_and_leaves_the_marked_one(page: Any, address: str) -> None:
    page.goto(f"{address}{QUESTION}?step=0")
    marked = lit(page)
    assert len(marked) > 1
    other = page.locator("a.step", has_text=re.compile("unique")).first
    other.hover()
    assert len(lit(page)) == 1
    page.mouse.move(2, 2)
    assert lit(page) == marked


def test_the_keyboard_alone_does_everything(page: Any, address: str) -> None:
    page.goto(f"{address}{QUESTION}")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Boxes"
    panel = page.locator("[data-field=step]")
    page.keyboard.press("Space")
    assert "show-boxes" not in panel.get_attribute("class")
    assert page.evaluate("document.activeElement.getAttribute('aria-checked')") == "false"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert "show-masks" in panel.get_attribute("class")
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('a.step')"):
            break
    focused = page.evaluate("document.activeElement.dataset.objects")
    assert lit(page) == set(focused.split())
    page.keyboard.press("Enter")
    assert page.locator("a.step[aria-current=step]").count() == 1
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("complex_iid/21"))
    assert "show-masks" in page.locator("[data-field=step]").get_attribute("class")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile("complex_iid/20"))


def test_it_works_without_the_script(open_page: Callable[..., Any], address: str) -> None:
    page = open_page(java_script_enabled=False)
    page.goto(f"{address}{QUESTION}")
    follow(page, page.locator("a.step").first)
    assert page.locator("g.box.lit").count() > 0
    follow(page, page.get_by_role("switch", name="Masks"))
    assert page.locator("img.mask").first.is_visible()
    assert page.locator("g.box.lit").count() > 0
    page.close()


PAGES = (
    "",
    f"questions?hop={HOP}&split=complex_iid",
    f"questions?hop={HOP}&split=complex_ood&view=grid&shows=two+or+more+things",
    QUESTION,
    f"question/{HOP}/covr_test/1",
    f"question/{HOP}/minimal_ood/1",
    f"pairs/{HOP}/carets/complex_iid",
    f"pair/{HOP}/carets/complex_iid/1",
    "question/none/nonce_seen/2",
)


@pytest.mark.parametrize("where", PAGES)
def test_pages_are_sound_for_screen_readers_and_narrow_screens(
    open_page: Callable[..., Any], address: str, where: str
) -> None:
    """One h1, landmarks, a name for each control, a text for each image, and contrast, light and dark."""
    for width, scheme in SCREENS:
        page = open_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.goto(f"{address}{where}")
        page.wait_for_selector("h1:not(:has-text('Making'))")
        assert page.locator("h1").count() == 1
        assert page.get_by_role("main").count() == 1
        assert page.get_by_role("navigation", name="You are here").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("[...document.images].every(each => each.hasAttribute('alt'))")
        unnamed = page.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]), select')]"
            ".filter(each => !each.labels.length).length"
        )
        assert unnamed == 0
        assert page.evaluate("[...document.querySelectorAll('a, button')].every(each => "
                             "each.textContent.trim() || each.getAttribute('aria-label'))")  # fmt: skip
        assert worst_contrast(page) >= 4.5
        photograph(page, f"{where or 'home'}-{width}-{scheme}")
        page.close()


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_the_contact_sheet_is_sound_and_its_groups_are_rows(
    open_page: Callable[..., Any], dataset: Path, width: int, scheme: str
) -> None:
    page = open_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto((dataset / "index.html").as_uri())
    photograph(page, f"index-{width}-{scheme}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert worst_contrast(page) >= 4.5
    targets = page.eval_on_selector_all("nav a", "all => all.map(each => each.getAttribute('href'))")
    assert f"#{HOP}-complex_ood" in targets
    assert page.evaluate("all => all.every(each => document.getElementById(each.slice(1)))", targets)
    first = page.eval_on_selector_all(f"#{HOP} h3", "all => all.map(each => each.id)")[0]
    assert first == f"{HOP}-complex_ood"
    rows = page.eval_on_selector_all(
        ".cards.minimal[style]",
        "all => all.map(each => [...each.children].map(card => card.getBoundingClientRect().top))",
    )
    assert {len(row) for row in rows} >= {3, 4}
    assert all((len(set(row)) == 1) == (width > 860) for row in rows)
    over = page.locator("p.over").first
    assert over.evaluate("each => getComputedStyle(each).display") == "block"
    page.close()


def test_the_image_stays_in_sight_on_a_narrow_screen(open_page: Callable[..., Any], address: str) -> None:
    page = open_page(viewport={"width": 390, "height": 700})
    page.goto(f"{address}{QUESTION}")
    last = page.locator("a.step").last
    last.scroll_into_view_if_needed()
    last.click()
    assert page.evaluate("scrollY") > 0
    assert page.evaluate("document.querySelector('.frame').getBoundingClientRect().top") >= 0
    above = "document.querySelector('#program').getBoundingClientRect().top"
    below = "document.querySelector('.marked-step').getBoundingClientRect().bottom"
    assert 0 <= page.evaluate(f"{above} - {below}") < 60, "what a step gives stands above the program"
    photograph(page, "browse-question-390")
    page.goto(address)
    shade = "each => [each.scrollWidth > each.clientWidth, getComputedStyle(each).backgroundImage]"
    tables = page.locator(".wide").evaluate_all(f"all => all.map({shade})")
    assert tables
    assert all("gradient" in background for _, background in tables)
    photograph(page, "browse-home-390")
    page.close()


def test_dark_is_dark_and_light_is_light(open_page: Callable[..., Any], address: str) -> None:
    shades = []
    for scheme in ("light", "dark"):
        page = open_page(color_scheme=scheme)
        page.goto(address)
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        shades.append(sum(map(int, re.findall(r"\d+", colour)[:3])) / 3)
        page.close()
    assert shades[0] > 200
    assert shades[1] < 60


def test_hostile_answers_run_nothing(page: Any, address: str) -> None:
    alerts: list[str] = []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    page.goto(f"{address}question/{HOP}/complex_iid/3")
    assert page.get_by_text('<script>alert("a")</script>').count() > 0
    open_list(page, address, f"hop={HOP}&split=complex_iid&words=%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
    assert alerts == []
