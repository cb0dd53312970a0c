"""HTML as Markdown: what is kept, what goes, and pages made to hurt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web.pages.markdown import to_markdown

URL = "https://a.example/docs/current"


def markdown(html: str, **options: object) -> str:
    return to_markdown(html, base_url=URL, **options).text


def test_structure_is_kept():
    html = (
        "<h2>Tides</h2><ul><li>high</li><li>low</li></ul><pre><code class='language-py'>x = 1\n"
        "</code></pre><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
    )

    assert markdown(html) == (
        "## Tides\n\n- high\n- low\n\n```py\nx = 1\n```\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"
    )


def test_links_become_absolute_and_scripted_ones_become_text():
    html = "<a href='../next'>n</a> <a href='/r?a=1&amp;b=2'>r</a> <a href=\"javascript:x()\">j</a>"

    assert markdown(html) == "[n](https://a.example/next) [r](https://a.example/r?a=1&b=2) j"


def test_the_base_of_the_page_wins():
    assert markdown("<base href='/b/'><a href='x'>x</a>") == "[x](https://a.example/b/x)"


@pytest.mark.parametrize(
    "unseen",
    [
        "<script>unseen</script>",
        "<style>unseen</style>",
        "<noscript>unseen</noscript>",
        "<template>unseen</template>",
        "<!-- unseen -->",
        "<p hidden>unseen</p>",
        "<p style='display: none'>unseen</p>",
        "<input type=hidden value=unseen>",
    ],
)
def test_what_no_reader_sees_is_gone(unseen):
    assert markdown(f"<p>before</p>{unseen}<p>after</p>") == "before\n\nafter"


def test_the_title_is_apart():
    page = to_markdown("<title> Tides &amp;\n winds </title><p>x</p>", base_url=URL)

    assert (page.title, page.text) == ("Tides & winds", "x")
    assert to_markdown("<p>x</p>", base_url=URL).title is None


def test_main_content_leaves_out_what_stands_around_it():
    html = "<nav>n</nav><main><h1>M</h1><p>a</p></main><aside>s</aside><footer>f</footer>"

    assert markdown(html, main_content=True) == "# M\n\na"
    assert "f" in markdown(html)


def test_a_cap_cuts_and_says_so():
    page = to_markdown(f"<p>{'x' * 50}</p>", base_url=URL, max_chars=20)

    assert (page.text, page.is_cut) == ("x" * 20, True)
    assert not to_markdown("<p>x</p>", base_url=URL, max_chars=20).is_cut


@pytest.mark.parametrize(
    "tag", ["div", "blockquote", "b", "span", "ul><li", "table><tr><td", "x-y"]
)
@pytest.mark.parametrize("is_closed", [True, False])
def test_any_depth_keeps_the_text(tag, is_closed):
    start = f"<{tag}>"
    end = "".join(f"</{part}>" for part in reversed(tag.split("><"))) if is_closed else ""

    assert "deep text" in markdown(start * 5000 + "deep text" + end * 5000)


def test_a_script_in_the_deep_stays_a_script():
    assert "unseen" not in markdown("<div>" * 1000 + "<script>unseen()</script>")


@given(
    st.lists(
        st.sampled_from(
            [
                *("<", ">", "</", "<div>", "</div>", "<p>", "<!--", "-->", "<script>", "</script>"),
                *("<a href='", "'", '"', "<table>", "<td>", "x", "&amp;", "&#0;", "\0", "\ud800"),
            ]
        )
    ).map("".join)
)
def test_any_text_is_converted(html):
    page = to_markdown(html, base_url=URL, max_chars=50)

    assert len(page.text) <= 50
    page.text.encode()
