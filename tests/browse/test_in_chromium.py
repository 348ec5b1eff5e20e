"""The pages in Chromium: clicks, keys, narrow and dark screens, and what screen readers find."""

import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from site_client import HOP, TOKEN

from clevrhope.browse.folder import SiteFolder
from clevrhope.browse.models import read_models
from clevrhope.browse.server import Site, application
from clevrhope.browse.serving import bound
from clevrhope.runtime.progress import Silent
from waiting import HANG_S, wait_until

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright, of the extra dev")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = [pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on this machine"), pytest.mark.slow]

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


@pytest.fixture(scope="module")
def open_page() -> Iterator[Callable[..., Any]]:
    """Opens a page with these settings, in a context of its own, which ends with the page."""
    hang_ms = 1000 * HANG_S
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=hang_ms)

        def new_page(**settings: Any) -> Any:
            page = browser.new_page(**settings)
            page.set_default_timeout(hang_ms)
            return page

        yield new_page
        browser.close()


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
        assert f"step={number + 1}" in page.url
        assert page.get_by_role("status").first.text_content().startswith(f"Step {number + 1}: ")
    page.reload()
    assert lit(page) == objects[-1]


def test_hovering_shows_a_step_and_leaves_the_marked_one(page: Any, address: str) -> None:
    page.goto(f"{address}{QUESTION}?step=1")
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
    for width, scheme in ((1280, "light"), (390, "dark"), (390, "light"), (1280, "dark")):
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
        if folder := os.environ.get("CLEVRHOPE_SCREENSHOTS"):
            name = re.sub(r"\W+", "-", where) or "home"
            page.screenshot(path=f"{folder}/{name}-{width}-{scheme}.png", full_page=True)
        page.close()


def worst_contrast(page: Any) -> float:
    """The least contrast (WCAG) of a text with the background behind it; what is off does not count."""
    worst: float = page.evaluate("""() => {
        const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
        const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
            .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
            .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
        let worst = 21;
        for (const each of document.querySelectorAll("body *")) {
            const own = [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
            if (!own || each.closest("svg, .off, .hidden, .skip, option, select, script")) continue;
            let back = each;
            const behind = (node) => getComputedStyle(node ?? document.body).backgroundColor;
            while (back && (numbers(behind(back))[3] ?? 1) === 0) back = back.parentElement;
            const pair = [getComputedStyle(each).color, behind(back)];
            const [a, b] = pair.map((colour) => light(numbers(colour))).sort((x, y) => y - x);
            worst = Math.min(worst, (a + 0.05) / (b + 0.05));
        }
        return worst;
    }""")
    return worst


def test_the_image_stays_in_sight_on_a_narrow_screen(open_page: Callable[..., Any], address: str) -> None:
    page = open_page(viewport={"width": 390, "height": 700})
    page.goto(f"{address}{QUESTION}")
    last = page.locator("a.step").last
    last.scroll_into_view_if_needed()
    last.click()
    assert page.evaluate("scrollY") > 0
    assert page.evaluate("document.querySelector('.frame').getBoundingClientRect().top") >= 0
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
