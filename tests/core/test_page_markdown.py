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
    "text",
    [
        "[x](http://evil.example)",
        "[x]<span></span>(http://evil.example)",
        "&#91;x&#93;&#40;http://evil.example)",
        "[x\n](http://evil.example)",
        "[a [b]](http://evil.example)",
        "&lt;http://evil.example&gt;",
        "[x]<p></p>\n[x]: http://evil.example",
        "![x](http://evil.example)",
    ],
)
def test_text_of_a_page_makes_no_link(text):
    from markdown_it import MarkdownIt

    rendered = MarkdownIt("commonmark").render(markdown(f"<p>see {text}</p>"))

    assert "href" not in rendered
    assert "<img" not in rendered


@pytest.mark.parametrize("start", ["# ", "- ", "* ", "+ ", "1. ", "2) ", "> ", "```", "<b>"])
def test_text_of_a_page_makes_no_block(start):
    from markdown_it import MarkdownIt

    written = start.replace("<", "&lt;").replace(">", "&gt;")
    rendered = MarkdownIt("commonmark").render(
        markdown(f"<p>{written}a</p><p>b\n{written}c</p><ul><li>{written}d</li></ul>")
    )

    assert {"p", "/p", "ul", "/ul", "li", "/li"} >= {
        tag.split(">")[0] for tag in rendered.split("<")[1:]
    }


@pytest.mark.parametrize(
    "text",
    [
        "On 2026-06-01 v1.2 cost 3.50, a+b = c (see [1]).",
        "C# and F#, snake_case, a - b, 5 * 3, x > y",
        "1) first and 2. second in a line",
        "[edit] the [source] page",
    ],
)
def test_ordinary_text_is_not_littered_with_escapes(text):
    assert markdown(f"<p>Note: {text.replace('>', '&gt;')}</p>") == f"Note: {text}"


@pytest.mark.parametrize(
    "address",
    [
        "javascript:x()",
        " JAVA\tscript:x()",
        "jav&#x61;script:x()",
        "vbscript:x",
        "data:text/html,x",
        "ftp://x.example/",
        "file:///etc/passwd",
    ],
)
def test_links_lead_to_pages_only(address):
    text = markdown(f'<p><a title=">" href="{address}">label</a></p>')

    assert "label" in text
    assert "](" not in text


@pytest.mark.parametrize(
    "html", ["<blockquote><ul><li>" * 250 + "<br>x" * 10_000, "<blockquote>" * 200 + "<br>x" * 9999]
)
def test_prefixes_do_not_make_a_huge_page_of_a_small_one(html):
    text = markdown(html)

    assert text.count("x") >= 9999
    assert len(text) < 20 * len(html)


def test_a_cut_keeps_words_and_addresses_whole():
    html = "<p>tide tables and <a href='https://harbour.example/a/long/path'>more</a></p>"

    for size in range(len("tide tables and"), len(markdown(html))):
        text = to_markdown(html, base_url=URL, max_chars=size).text
        assert text == "tide tables and"


@pytest.mark.parametrize("piece", ["<!--", "<!-- -->", "<title>", "<meta property='og:title' "])
def test_looking_for_the_title_takes_no_time_in_the_square(piece):
    # A guard: minutes, not a fraction of a second.
    assert not to_markdown(piece * (200_000 // len(piece)), base_url=URL).text.startswith("<meta")


def test_popovers_are_not_shown():
    html = "<p>a</p><div popover>unseen</div><dialog open>b</dialog>"

    assert markdown(html) == "a\n\nb"


def test_a_page_without_a_title_is_named_by_what_it_shares_or_by_its_heading():
    meta = '<meta property="og:title" content="Shared &amp; sent"><h1>Head</h1>'

    assert to_markdown(meta, base_url=URL).title == "Shared & sent"
    assert to_markdown("<h1>Head</h1>", base_url=URL).title == "Head"


def test_a_page_that_teaches_html_keeps_its_code():
    html = '<code>&lt;a href="javascript:void(0)"&gt;</code><pre>el.href="javascript:f()"</pre>'

    assert markdown(html) == '`<a href="javascript:void(0)">`\n\n```\nel.href="javascript:f()"\n```'


def test_titles_and_alternative_texts_write_no_markdown():
    html = (
        "<a href=/z title='x\n\n[c](http://evil.example/)\n\n# Big'>t</a> <img src=/i alt='a\n- b'>"
    )

    text = markdown(html)

    assert "evil" not in text
    assert "\n" not in text


@pytest.mark.parametrize("name", ["script", "style", "template", "noscript"])
def test_what_a_page_breaks_off_in_is_no_text(name):
    assert markdown(f"<p>seen</p><{name}>unseen = 1") == "seen"


@pytest.mark.parametrize(
    "html",
    ["<body><form><h1>Whole</h1><p>text</p></form>", "<nav><h1>Whole</h1><p>text</p></nav>"],
)
def test_a_page_without_a_main_part_is_kept_whole(html):
    assert markdown(html, main_content=True) == "# Whole\n\ntext"


@pytest.mark.parametrize("html", ["%PDF-1.4 explained", "PK\x03\x04 archive", "a\x02b" * 300])
def test_text_that_looks_like_another_file_is_text(html):
    assert markdown(html)


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<!-- <title>Old</title> --><title>Real</title>", "Real"),
        ("<title>if a < b then</title>", "if a < b then"),
    ],
)
def test_the_title_is_the_one_that_readers_see(html, title):
    assert to_markdown(html, base_url=URL).title == title


def test_code_is_left_as_it_is():
    html = "<pre>a \\- [b](c) * `d`\n# e</pre><p>x <code>a\\.b [1](2)</code></p>"

    assert markdown(html) == "```\na \\- [b](c) * `d`\n# e\n```\n\nx `a\\.b [1](2)`"


def test_many_tags_without_ends_are_not_taken_for_depth():
    text = markdown("<h2>H</h2>" + "".join(f"<p>t{n}<li>i{n}" for n in range(600)) + "<h2>E</h2>")

    assert text.endswith("## E")
    assert text.count("- i") == 600


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
