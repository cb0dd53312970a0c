"""The text of a PDF, under bounds on its length and on the work it may cost.

A PDF is a program for drawing pages: a few kilobytes can ask for hours of work. So what one page
may cost is capped, and the drawing stops when there is text enough, when its time is over, or when
nobody waits for the result any more.
"""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ..errors import UnusablePageError

__all__ = ["PdfText", "pdf_text"]

MAX_SECONDS: Final = 20.0
"""For all pages together; a long report takes about one."""

_LIMITS: Final[dict[str, Any]] = {
    # Per page. A dense page of text has some ten thousand tokens, a map can have millions; these
    # take two seconds, in which the reader cannot be stopped.
    "stream_parsing_work_maximum_count": 200_000,
    # Bytes that one stream, and all filters of one stream together, may unfold to.
    "zlib_maximum_output_length": 20_000_000,
    "lzw_maximum_output_length": 20_000_000,
    "run_length_maximum_output_length": 20_000_000,
    "stream_decoding_work_maximum_length": 60_000_000,
    # Never another program over a stranger's file; pictures are not read anyway.
    "jbig2dec_binary": None,
}

_NO_HANDLER: Final = logging.NullHandler()

_MISSING: Final = 'is a PDF, and reading those needs an extra: pip install "dsh-web[pdf]"'


class PdfText(NamedTuple):
    """What was read of a PDF."""

    text: str
    page_count: int
    is_cut: bool
    """Whether a limit or a damaged page left text out."""


def pdf_text(
    data: bytes | bytearray, *, max_chars: int, stop: Callable[[], bool] = lambda: False
) -> PdfText:
    """Return the text of a PDF, its pages separated by blank lines. Blocks while it works.

    A page that is damaged or costs too much is left out.

    Args:
        data: The whole file.
        max_chars: Characters to stop at.
        stop: Asked all the time; once it is true the result is of no use to anybody.

    Raises:
        UnusablePageError: None of it can be read, it is encrypted, or the extra `pdf` is not
            installed. The message goes on after the name of the file.
    """
    try:
        import pypdf
    except ImportError as error:
        raise UnusablePageError(_MISSING) from error
    # Its remarks on damaged files are for programs that configure logging, not for every terminal.
    logging.getLogger("pypdf").addHandler(_NO_HANDLER)
    work = _Work(max_chars, stop)
    try:
        with pypdf.apply_configuration(**_LIMITS):
            reader = pypdf.PdfReader(io.BytesIO(data))
            if reader.is_encrypted and not reader.decrypt(""):
                raise UnusablePageError("is an encrypted PDF")
            page_count = len(reader.pages)
            for number in range(page_count):
                if work.is_over:
                    break
                work.read(reader, number)
    except UnusablePageError:
        raise
    except Exception as error:
        # Whatever it was, it was in the file: the reader raises almost every kind there is.
        raise _unreadable(error) from error
    if work.failure is not None and len(work.pages) == 0:
        raise _unreadable(work.failure) from work.failure
    text = "\n\n".join(page for page in work.pages if page)
    is_cut = work.is_over or work.failure is not None or len(text) > max_chars
    return PdfText(text[:max_chars], page_count, is_cut)


def _unreadable(error: Exception) -> UnusablePageError:
    reason = f"{type(error).__name__}: {str(error)[:200]}"
    return UnusablePageError(f"cannot be read as a PDF ({reason})")


class _Over(Exception):
    """There is no more to be read."""


class _Work:
    """The pages read so far, and whether to go on."""

    def __init__(self, max_chars: int, stop: Callable[[], bool]) -> None:
        self.pages: list[str] = []
        self.is_over = False
        self.failure: Exception | None = None
        self._room = max_chars
        self._stop = stop
        self._end = time.monotonic() + MAX_SECONDS

    def read(self, reader: Any, number: int) -> None:
        """Read one page, or note why it cannot be."""
        pieces: list[str] = []

        def keep(piece: str, *where: object) -> None:
            pieces.append(piece)
            self._room -= len(piece)

        try:
            self._check()
            page = reader.pages[number].extract_text(
                visitor_operand_before=self._check, visitor_text=keep
            )
        except _Over:
            self.is_over = True
            page = "".join(pieces)
        except Exception as error:
            # The file's fault, see above; other pages may well be whole.
            self.failure = error
            return
        self.pages.append(page.strip())

    def _check(self, *operation: object) -> None:
        if self._room < 0 or self._stop() or time.monotonic() > self._end:
            raise _Over
