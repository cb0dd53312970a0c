"""Pages that are PDF files."""

from __future__ import annotations

import io
import threading
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import CancelToken, PdfBody, UnusablePageError
from dsh_web.pages.pdf import pdf_text

from ..io.raw_server import RawServer, answering, answering_once
from .conftest import Fetch, Web, failure, page
from .pdfs import laborious, line, pdf

WebWith = Callable[..., tuple[Web, RawServer]]
URL = "http://ok.example/a.pdf"
SOON = 5.0
"""Seconds; the file would take a minute. The reader shares the processor with whoever waits."""


def sent(body: bytes, status: int = 200, **settings: Any) -> bytes:
    return page(body, status, content_type="application/pdf", **settings)


def test_the_text_of_every_page_is_the_content(fetch: Fetch, web_with: WebWith) -> None:
    web, _ = web_with(answering(sent(pdf(line("Harbour dues"), line("Tide tables")))))
    result = fetch(web.runtime(), URL)

    assert isinstance(result.body, PdfBody)
    assert (result.body.content, result.body.page_count) == ("Harbour dues\n\nTide tables", 2)
    assert not result.truncated


def test_a_pdf_may_come_with_an_error_status(fetch: Fetch, web_with: WebWith) -> None:
    web, _ = web_with(answering(sent(pdf(line("Gone")), 410)))

    assert fetch(web.runtime(), URL).status_code == 410


@pytest.mark.parametrize(
    ("limit", "text", "is_cut"), [(7, "Harbour", True), (12, "Harbour dues", False)]
)
def test_its_text_is_cut_at_the_limit(
    fetch: Fetch, web_with: WebWith, limit: int, text: str, is_cut: bool
) -> None:
    web, _ = web_with(answering(sent(pdf(line("Harbour dues")))))
    result = fetch(web.runtime(max_body_chars=limit), URL)

    assert (result.body.content, result.truncated) == (text, is_cut)


def test_no_more_pages_are_read_than_wanted() -> None:
    result = pdf_text(laborious(), max_chars=100)

    assert (len(result.text), result.page_count, result.is_cut) == (100, 200, True)


def test_a_page_that_asks_for_too_much_is_left_out() -> None:
    pages = [line("Harbour dues"), line("x") * 40_000, line("Tide tables")]
    result = pdf_text(pdf(*pages, packed=True), max_chars=1_000_000)

    assert result == ("Harbour dues\n\nTide tables", 3, True)


def test_a_file_of_such_pages_alone_is_refused() -> None:
    with pytest.raises(UnusablePageError, match="cannot be read as a PDF"):
        pdf_text(pdf(line("x") * 40_000, packed=True), max_chars=1_000_000)


def test_a_page_that_unfolds_to_far_too_much_is_left_out() -> None:
    data = pdf(line("Harbour dues"), b" " * 60_000_000, packed=True)
    tracemalloc.start()
    try:
        result = pdf_text(data, max_chars=1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert result == ("Harbour dues", 2, True)
    assert peak < 100_000_000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"%PDF-1.4\n",
        b"no pdf at all" * 20,
        pdf(line("a"))[:150],
        b"%PDF-1.4\n" + b"1 0 obj\n" * 1000,
    ],
)
def test_what_is_no_pdf_is_refused(fetch: Fetch, web_with: WebWith, body: bytes) -> None:
    web, _ = web_with(answering_once(sent(body, length=None)))
    error = failure(lambda: fetch(web.runtime(), URL))

    assert (error.code, error.status_code) == ("WEB_UNSUPPORTED_CONTENT_TYPE", 200)
    assert error.message.startswith("'http://ok.example/a.pdf' cannot be read as a PDF")


def test_an_encrypted_pdf_is_refused_as_one(fetch: Fetch, web_with: WebWith) -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf(line("secret"))))
    writer.encrypt("password", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    web, _ = web_with(answering(sent(out.getvalue())))

    assert "encrypted" in failure(lambda: fetch(web.runtime(), URL)).message


def test_a_pdf_that_grows_over_the_cap_is_too_large(fetch: Fetch, web_with: WebWith) -> None:
    web, _ = web_with(answering_once(sent(pdf(line("a" * 2000)), length=None)))
    error = failure(lambda: fetch(web.runtime(max_response_bytes=1000), URL))

    assert error.code == "WEB_FETCH_TOO_LARGE"
    assert "more than 1000 bytes" in error.message


WITHOUT_READER = """
import sys
sys.modules["pypdf"] = None
from dsh_web import UnusablePageError
from dsh_web.pages.pdf import pdf_text
try:
    pdf_text(b"%PDF", max_chars=10)
except UnusablePageError as error:
    assert 'pip install "dsh-web[pdf]"' in error.message, error
else:
    raise AssertionError
"""


def test_without_a_reader_the_error_names_the_extra(run_script: Callable[..., Any]) -> None:
    done = run_script(WITHOUT_READER)

    assert done.returncode == 0, done.stderr


@given(st.binary(max_size=400), st.integers(0, 500), st.integers(0, 40))
def test_a_damaged_file_is_read_or_refused(noise: bytes, position: int, removed: int) -> None:
    good = pdf(line("Harbour dues"), line("Tide tables"))
    data = good[:position] + noise + good[position + removed :]
    try:
        result = pdf_text(data, max_chars=100)
    except UnusablePageError:
        return
    assert len(result.text) <= 100


def test_a_cancel_leaves_the_reader_behind_and_it_stops(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(answering(sent(laborious())))
    token, at = CancelToken(), [0.0]

    def cancel() -> None:
        server.wait_for("answer")
        time.sleep(0.3)  # by then it draws; there is no sign of it outside
        at[0] = time.monotonic()
        token.cancel()

    threading.Thread(target=cancel, daemon=True).start()
    runtime = web.runtime(max_body_chars=100_000_000)
    error = failure(lambda: fetch(runtime, URL, cancel=token))

    assert error.code == "WEB_ABORTED"
    assert error.__dict__["ended_at"] - at[0] < SOON
    # The fixture of this folder waits for its thread to end.


def test_so_does_the_time(fetch: Fetch, web_with: WebWith) -> None:
    web, _ = web_with(answering(sent(laborious())))
    runtime = web.runtime(max_body_chars=100_000_000, timeout=0.4)
    started = time.monotonic()

    assert failure(lambda: fetch(runtime, URL)).code == "WEB_FETCH_TIMEOUT"
    assert time.monotonic() - started < 0.4 + SOON
