"""Results and pages as Markdown, HTML, data frames and bibliographies."""

from __future__ import annotations

import builtins
import importlib
import re
import sys
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import (
    CitationLedger,
    InvalidRequestError,
    WebFinance,
    WebPage,
    WebSearchResult,
    WebSearchSource,
    WebSnapshot,
)

from .exported import HOSTILE_TITLE, answered

VOID = {"br", "hr", "img", "input", "meta", "link"}


class Tags(HTMLParser):
    """Collects elements, and makes sure that each is closed where it should be."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)

    def named(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.found if tag == name]


def test_html_has_the_answer_with_linked_marks_and_a_row_per_source() -> None:
    html = answered().to_html()
    page = Tags(html)

    assert "".join(page.text).count("Tea is a") == 1
    assert [a["href"] for a in page.named("a") if "aria-describedby" in a] == [
        "https://tea.example/leaf?a=1&b=2",
        "https://www.brew.example/how_to",
        "https://tea.example/leaf?a=1&b=2",
    ]
    assert len(re.findall("<tr", html)) == 1 + 3
    assert "9?" in "".join(page.text)  # a number without a source is shown as such
    assert "what is tea? <i>" in "".join(page.text)


def test_html_of_strangers_is_text_and_only_web_addresses_are_links() -> None:
    page = Tags(answered().to_html())

    assert {tag for tag, _ in page.found} <= {
        "a", "b", "bdi", "br", "caption", "div", "i", "li", "p", "span", "strong", "style", "sup",
        "table", "tbody", "td", "th", "thead", "tr", "ul",
    }  # fmt: skip
    assert all((a["href"] or "").startswith(("https://", "#")) for a in page.named("a"))
    assert not any(name.startswith("on") for _, attributes in page.found for name in attributes)
    assert HOSTILE_TITLE in "".join(page.text)
    assert "<img src=x onerror=alert(2)> boil & wait" in "".join(page.text)


def test_marks_describe_their_source_to_pointer_focus_and_screen_reader() -> None:
    page = Tags(answered().to_html())

    tips = {span["id"]: span for span in page.named("span") if span.get("role") == "tooltip"}
    described = [a["aria-describedby"] for a in page.named("a") if "aria-describedby" in a]
    assert described == list(tips)
    assert all("hidden" in tip for tip in tips.values())  # also where the style is taken away
    text = "".join(page.text)
    assert "Leaf" in text
    assert "2026-03-09" in text
    assert "All about the leaf. And the plant." in text


def test_every_link_within_the_fragment_leads_to_an_element_of_it() -> None:
    page = Tags(answered().to_html())

    ids = [attributes["id"] for _, attributes in page.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = [str(a["href"])[1:] for a in page.named("a") if str(a["href"]).startswith("#")]
    assert targets
    assert set(targets) <= set(ids)


def test_two_fragments_on_one_page_share_no_id() -> None:
    result = answered()
    first, second = Tags(result.to_html()), Tags(result.to_html())

    def ids(page: Tags) -> set[str | None]:
        return {attributes["id"] for _, attributes in page.found if "id" in attributes}

    assert ids(first).isdisjoint(ids(second))


def test_notebooks_are_given_html_and_markdown() -> None:
    result = answered()

    assert Tags(result._repr_html_()).named("table")
    assert "[[1]](https://tea.example/leaf?a=1&b=2" in result._repr_markdown_()


def test_markdown_shown_by_a_notebook_has_no_tag_that_works() -> None:
    result = answered(content="<script>alert(1)</script> <!-- x --> a < b", citations=())

    assert re.findall(r"(?<!\\)<[A-Za-z/!]", result._repr_markdown_()) == []
    assert "a < b" in result._repr_markdown_()


def test_html_without_markdown_parser_keeps_the_answer_as_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real_import = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "markdown_it" or name.endswith("_html_markdown"):
            raise ModuleNotFoundError(name="markdown_it")
        return real_import(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "dsh_web.citations._html_markdown", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    page = Tags(answered().to_html())

    assert "Tea is a **leaf**." in "".join(page.text)


def test_a_result_without_answer_lists_its_sources_by_rank() -> None:
    result = answered(content=None, citations=(), citation_contract=None)

    assert Tags(result.to_html()).named("table")
    lines = result.to_markdown().splitlines()
    assert lines[0].startswith("1. [Leaf](https://tea.example/leaf?a=1&b=2) (2026-03-09) — All")
    assert len(lines) == 3


def test_an_empty_result_says_so() -> None:
    empty = WebSearchResult(provider="p")

    assert "No sources." in empty.to_html()
    assert empty.to_markdown() == "No results found.\n"
    assert empty.to_bibtex() == ""
    assert len(empty.to_frame()) == 0


def test_a_source_that_was_cut_from_the_list_still_has_its_row() -> None:
    result = answered()
    cut = result.model_copy(update={"sources": result.sources[:1], "truncated": True})

    page = Tags(cut.to_html())

    assert "Only the first source of more that were found." in "".join(page.text)
    assert len([1 for tag, _ in page.found if tag == "tr"]) == 1 + 2


def test_markdown_takes_styles_and_numberings() -> None:
    result = answered()
    ledger = CitationLedger().with_result(result)

    assert "[^1]: [Leaf]" in result.to_markdown(style="footnotes")
    assert "[1]" in result.to_markdown(style="plain", source_list="cited")
    assert "[[1]]" in result.to_markdown(numbering=ledger)
    with pytest.raises(InvalidRequestError, match="to_html"):
        result.to_markdown(style="html")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError, match="numbering"):
        result.to_markdown(numbering="alphabetical")


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_a_frame_has_a_row_per_source_and_nulls_for_the_unknown(backend: Any) -> None:
    frame = answered().to_frame(backend)

    rows = frame.to_dict("records") if backend == "pandas" else frame.to_dicts()
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert [row["cited_as"] for row in rows[:2]] == ["1", "2"]
    assert [row["citations"] for row in rows] == [2, 1, 0]
    assert rows[0]["host"] == "tea.example"
    assert rows[1]["published_at"] == "2 hours ago"
    missing = rows[2]["title"]
    assert missing is None or pandas.isna(missing)


def test_frames_of_nothing_have_the_same_columns_and_types() -> None:
    full, empty = answered(), WebSearchResult(provider="p")

    assert empty.to_frame("pandas").dtypes.equals(full.to_frame("pandas").dtypes)
    assert empty.to_frame("polars").schema == full.to_frame("polars").schema
    assert isinstance(full.to_frame(), pandas.DataFrame)
    assert isinstance(full.to_frame("polars"), polars.DataFrame)


def test_frames_fall_back_to_polars_and_name_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    absent = {"pandas"}

    def imported(name: str, package: str | None = None) -> Any:
        if name in absent:
            raise ModuleNotFoundError(name=name)
        return real(name, package)

    real = importlib.import_module
    monkeypatch.setattr(importlib, "import_module", imported)

    assert isinstance(answered().to_frame(), polars.DataFrame)
    with pytest.raises(InvalidRequestError, match="pip install pandas"):
        answered().to_frame("pandas")
    absent.add("polars")
    with pytest.raises(InvalidRequestError, match="pandas or polars"):
        answered().to_frame()
    with pytest.raises(InvalidRequestError, match="arrow"):
        answered().to_frame("arrow")  # type: ignore[arg-type]


def test_bibtex_has_an_entry_per_address_with_what_is_known() -> None:
    text = answered().to_bibtex(accessed=date(2026, 12, 1))

    entries = text.split("\n\n")
    assert len(entries) == 3
    assert entries[0] == (
        "@online{tea-leaf-a-" + entries[0].split("{tea-leaf-a-")[1].split(",")[0] + ",\n"
        "  title = {{Leaf}},\n"
        "  organization = {tea.example},\n"
        "  date = {2026-03-09},\n"
        "  url = {https://tea.example/leaf?a=1&b=2},\n"
        "  urldate = {2026-12-01},\n"
        "}"
    )
    assert "date = {2 hours" not in text  # no date is made up
    assert r"\{brace\} \$x\_y\$" in entries[1]


def test_bibtex_keys_stay_with_the_address_and_differ_between_addresses() -> None:
    result = answered()
    backwards = result.model_copy(update={"sources": result.sources[::-1]})

    def keys(text: str) -> list[str]:
        return re.findall(r"@online\{([^,]+),", text)

    assert sorted(keys(result.to_bibtex())) == sorted(keys(backwards.to_bibtex()))
    assert len(set(keys(result.to_bibtex()))) == 3


def test_market_data_is_shown_where_it_is_all_that_was_found() -> None:
    record = WebFinance(content="| price |\n|-|\n| 1 |", urls=("https://f.example/q",))
    result = WebSearchResult(
        provider="p", finance=(record,), related_questions=("And <b>now</b>?",)
    )

    page = Tags(result.to_html())
    assert page.named("table")
    assert "price" in "".join(page.text)
    assert "And <b>now</b>?" in "".join(page.text)
    assert "https://f.example/q" in [a["href"] for a in page.named("a")]
    assert "| price |" in result.to_markdown()
    assert "https://f.example/q" in result.to_markdown()
    assert "f.example" in result.to_bibtex()


def test_halves_of_surrogate_pairs_are_shown_and_stored_as_replacements(tmp_path: Path) -> None:
    half = "\ud800 bad"
    source = WebSearchSource(url="https://a.example/", title=half, snippet=half, published_at=half)
    result = answered(content=f"{half} [1]", sources=(source,), citations=())

    assert result.to_frame("polars")["title"].to_list() == ["? bad"]
    assert list(result.to_frame("pandas")["title"]) == ["? bad"]
    Tags(result.to_html()).text[0].encode()
    result.save(tmp_path / "x.json")
    assert WebSnapshot.load(tmp_path / "x.json").result == result


@given(title=st.text(max_size=40), url=st.text(max_size=40), day=st.text(max_size=12))
def test_no_text_breaks_out_of_html_or_bibtex(title: str, url: str, day: str) -> None:
    source = WebSearchSource(
        url=f"https://a.example/{url}", title=title, snippet=title, published_at=day
    )
    result = WebSearchResult(content=f"A{title}b [1]", sources=(source,), provider="p")

    Tags(result.to_html())
    entry = result.to_bibtex()
    bare = re.sub(r"\\[{}]", "", entry)
    depth = 0
    for char in bare:
        depth += (char == "{") - (char == "}")
        assert depth >= 0
    assert depth == 0
    assert entry.rstrip("\n").count("\n@") == 0
    result.to_markdown()
    result.to_frame("polars")


def test_a_page_is_shown_with_its_markdown_laid_out_and_its_tags_as_text() -> None:
    page = WebPage(
        url="https://a.example/page",
        status_code=200,
        kind="html",
        title="A <b>page</b>",
        text="# Head\n\n<script>alert(1)</script>\n\n![x](https://a.example/p.png)\n\n`code`",
    )

    html = Tags(page._repr_html_())

    assert html.named("h1")
    assert not html.named("script")
    assert not html.named("img")
    assert "A <b>page</b>" in "".join(html.text)
    assert re.findall(r"(?<!\\)<[A-Za-z/!]", page._repr_markdown_()) == []
