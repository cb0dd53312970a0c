"""Reading a folder of Markdown, text and HTML."""

from __future__ import annotations

from pathlib import Path

from dsh_web.server.corpus import Document
from dsh_web.server.corpus.folder import folder_documents
from dsh_web.server.excerpts import excerpt


def pages(folder: Path, **files: str) -> dict[str, Document]:
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(text, encoding="utf-8")
    return {page.title: page for page in folder_documents(folder)}


def test_titles_come_from_headings_first_lines_or_names(tmp_path: Path) -> None:
    found = pages(
        tmp_path,
        a_md="Intro.\n\n## The heading ##\n\nText.",
        b_txt="First line\nSecond",
        c_txt="x" * 200,
        d_html="<h1>Big <i>words</i></h1><p>Text",
    )

    assert set(found) == {"The heading", "First line", "c", "Big words"}


def test_addresses_are_made_from_paths(tmp_path: Path) -> None:
    (tmp_path / "deep dir").mkdir()
    (tmp_path / "deep dir" / "é.txt").write_text("Accent")

    (page,) = folder_documents(tmp_path)

    assert page.url == "https://corpus.example/deep%20dir/%C3%A9.txt"


def test_html_text_keeps_paragraphs_and_drops_scripts(tmp_path: Path) -> None:
    source = (
        "<title>T</title><style>p{}</style><body><p>One &amp; two</p><script>x()</script>"
        "<div>Three<br>four</div></body>"
    )

    (page,) = pages(tmp_path, a_html=source).values()

    assert page.text == "One & two\n\nThree\n\nfour"


def test_hidden_and_unknown_files_are_skipped(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "a.md").write_text("hidden")
    (tmp_path / "b.pdf").write_text("binary")

    assert list(folder_documents(tmp_path)) == []


def test_bytes_that_are_no_utf8_do_not_stop_reading(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"caf\xe9 au lait")

    (page,) = folder_documents(tmp_path)

    assert "au lait" in page.text


def test_an_excerpt_keeps_the_order_and_marks_what_it_left_out() -> None:
    text = "Alpha starts.\n\nNothing here at all, only filler.\n\nBeta turbines turn."

    assert excerpt(text, ["turbines", "alpha"], 10) == "Alpha starts.\n...\nBeta turbines turn."
    assert excerpt(text, ["turbines"], 1000) == text
    assert excerpt("word " * 50, ["x"], 3) == "word word"
