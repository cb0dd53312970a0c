"""How the citation notebook looks in a real browser: not its source, what a reader meets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dsh_web import WebPage
from tests.core.exported import HOSTILE_TITLE, answered

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, Page, expect, sync_playwright

LAUNCH = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="module")
def browser(browser_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=LAUNCH)
        yield browser
        browser.close()


class Visit:
    """A page, what it asked the network for, and what it tried to say by itself."""

    def __init__(self, browser: Browser, **context: Any) -> None:
        self.requested: list[str] = []
        self.dialogs: list[str] = []
        self.page: Page = browser.new_page(viewport={"width": 1000, "height": 800}, **context)
        self.page.route("http*://**", self._refuse)
        self.page.on(
            "dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.accept())
        )

    def _refuse(self, route: Any) -> None:
        self.requested.append(route.request.url)
        route.abort()

    def show(self, fragment: str) -> Page:
        self.page.set_content(f"<!doctype html><meta charset=utf-8><body>{fragment}")
        return self.page


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    visit = Visit(browser)
    yield visit
    visit.page.close()


@pytest.mark.timeout(420)
def test_the_citation_notebook_shows_an_answer_with_links_and_a_table(
    visit: Visit, executed: Path
) -> None:
    page = visit.page
    page.goto((executed / "02_citations_you_can_click.html").as_uri())
    answer = page.locator(".dsh-web").first

    expect(answer.locator(".dsh-question")).to_have_text("How do I shuffle and sample from a list?")
    marks = answer.locator("sup.citation a")
    assert marks.count() >= 3
    assert marks.first.get_attribute("href").startswith("https://docs.python.org/")
    expect(answer.locator("table.dsh-sources tbody tr")).to_have_count(6)
    # Nothing of it is wider than the page, and the style has arrived.
    box = answer.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1000
    weight = answer.locator(".dsh-question").evaluate("e => getComputedStyle(e).fontWeight")
    assert weight == "600"


@pytest.mark.timeout(420)
def test_pointing_at_a_number_brings_up_title_date_and_excerpt(
    visit: Visit, executed: Path
) -> None:
    page = visit.page
    page.goto((executed / "02_citations_you_can_click.html").as_uri())
    mark = page.locator(".dsh-web sup.citation").first
    tip = mark.locator(".citation-tip")

    expect(tip).to_be_hidden()
    mark.hover()
    expect(tip).to_be_visible()
    expect(tip).to_contain_text("random.Random.shuffle")
    expect(tip).to_contain_text("docs.python.org")
    page.mouse.move(2, 2)
    expect(tip).to_be_hidden()


def test_the_keyboard_brings_up_the_same(visit: Visit) -> None:
    page = visit.show(answered().to_html())
    tip = page.locator(".citation-tip").first

    page.keyboard.press("Tab")

    expect(page.locator("sup.citation a").first).to_be_focused()
    expect(tip).to_be_visible()
    expect(tip).to_contain_text("2026-03-09")


def test_hostile_titles_are_text_and_load_nothing(visit: Visit) -> None:
    page = visit.show(answered().to_html())

    expect(page.locator("table").get_by_text(HOSTILE_TITLE, exact=True)).to_be_visible()
    links = page.locator(".dsh-web a").evaluate_all("list => list.map(a => a.protocol)")
    assert set(links) <= {"https:", "about:"}
    assert page.locator(".dsh-web :is(script, img, iframe, object, form)").count() == 0
    assert visit.requested == []
    assert visit.dialogs == []


def test_a_hostile_page_is_text_and_loads_nothing(visit: Visit) -> None:
    text = "![x](https://evil.example/p.png) <img src=x onerror=alert(1)> [y](javascript:alert(2))"
    page = visit.show(
        WebPage(url="https://a.example/", status_code=200, kind="html", text=text).to_html()
    )

    assert page.locator(".dsh-web :is(script, img, iframe)").count() == 0
    links = page.locator(".dsh-web a").evaluate_all("list => list.map(a => a.protocol)")
    assert set(links) == {"https:"}  # a picture is a link, a script is text
    assert (visit.requested, visit.dialogs) == ([], [])


def test_the_arrow_in_the_table_leads_back_to_the_mark(visit: Visit) -> None:
    page = visit.show(answered().to_html())

    page.locator("table.dsh-sources a[role=doc-backlink]").first.click()

    target = page.evaluate("() => document.querySelector(':target').getAttribute('aria-label')")
    assert target == "Source 1: Leaf"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(browser: Browser, scheme: Any) -> None:
    visit = Visit(browser, color_scheme=scheme)
    ink, paper = ("#eee", "#111") if scheme == "dark" else ("#222", "#fff")
    page = visit.show(f"<div style='color:{ink};background:{paper}'>{answered().to_html()}</div>")

    for selector in (".cited-answer > p", "table.dsh-sources td", "sup.citation a"):
        colour = page.locator(selector).first.evaluate("e => getComputedStyle(e).color")
        assert _contrast(_rgb(colour), (17, 17, 17) if scheme == "dark" else (255, 255, 255)) >= 4.5
    visit.page.close()


def test_a_viewer_without_styles_shows_no_hidden_text(visit: Visit) -> None:
    html = answered().to_html()
    start, end = html.index("<style>"), html.index("</style>") + len("</style>")

    page = visit.show(html[:start] + html[end:])

    expect(page.locator(".citation-tip").first).to_be_hidden()
    expect(page.locator("table tbody tr")).to_have_count(3)


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(part) for part in colour.split("(")[1].rstrip(")").split(",")[:3])


def _contrast(first: tuple[int, ...], second: tuple[int, ...]) -> float:
    def luminance(colour: tuple[int, ...]) -> float:
        parts = [value / 255 for value in colour]
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
