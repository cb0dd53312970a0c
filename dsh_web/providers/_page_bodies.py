"""What a fetched response holds: which types can be read, under which limits, and their text."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Final, NoReturn

from ..cancel import CancelToken
from ..errors import WEB_FETCH_TOO_LARGE, ProviderError, UnusablePageError
from ..fetch_urls import PageUrl, shown_page
from ..flow import Flow, HttpHead, ReadChunk, Resolve
from ..pages.charset import Decoded, decode_page
from ..pages.media_type import MediaType, read_media_type
from ..pages.pdf import PdfText, pdf_text
from ..pages.shed import shed_unseen
from ..seam_fetch import HtmlBody, PdfBody, TextBody

__all__ = ["BodyReader"]

_WITHOUT_BODY: Final = (204, 205, 304)
_SHED_FROM: Final = 20
"""An article is looked for in so many times the characters that are kept."""


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Reads the bodies of pages.

    Args:
        max_response_bytes: Decompressed bytes of a page.
        max_body_chars: Characters of its text.
    """

    max_response_bytes: int
    max_body_chars: int

    def readable_type(self, page: PageUrl, head: HttpHead) -> MediaType | None:
        """Return what the page is; None: it has no body.

        Raises:
            ProviderError: It is no answer to a request for a page.
            UnusablePageError: It has no text, or too much.
        """
        if head.status < 200:
            raise ProviderError(
                f"fetching {shown_page(page.url)} failed: the server answered with the interim "
                f"status {head.status}",
                status_code=head.status,
            )
        length = head.headers.get("content-length", "")
        if head.status in _WITHOUT_BODY or length == "0":
            return None
        media_type = read_media_type(head.headers.get("content-type"))
        if media_type is None or media_type.kind is None:
            self._refuse_type(page, head, media_type)
        if length.isdecimal() and int(length[:20]) > self.max_response_bytes:
            self._refuse_size(page, head, f"has {length[:20]} bytes")
        return media_type

    def received(self) -> Flow[bytearray]:
        """Return the open response's body: one byte more than is kept shows that there was more.

        Raises:
            TransportError: It broke off.
        """
        data = bytearray()
        # Beyond the cap nothing is read, so that the connection is closed, not drained.
        while len(data) <= self.max_response_bytes and (piece := (yield ReadChunk())):
            data += piece
        return data

    def read(
        self, page: PageUrl, head: HttpHead, media_type: MediaType | None, data: bytearray
    ) -> Flow[tuple[HtmlBody | TextBody | PdfBody, bool]]:
        """Return what `data` says, and whether a limit cut it.

        Raises:
            UnusablePageError: It is a PDF that cannot be read, or not as a part.
        """
        if media_type is None:
            return TextBody(content=""), False
        is_whole = len(data) <= self.max_response_bytes
        if media_type.kind == "pdf":
            if not is_whole:
                # What it is made of stands at its end.
                self._refuse_size(page, head, f"is a PDF of more than {len(data) - 1} bytes")
            pdf = yield from self._pdf(page, head, data)
            return PdfBody(content=pdf.text, page_count=pdf.page_count), pdf.is_cut
        text = yield from self._text(data, media_type)
        kind = HtmlBody if media_type.kind == "html" else TextBody
        return kind(content=text.text), text.is_cut or not is_whole

    def _pdf(self, page: PageUrl, head: HttpHead, data: bytearray) -> Flow[PdfText]:
        ended = CancelToken()
        read = functools.partial(
            pdf_text, data, max_chars=self.max_body_chars, stop=lambda: ended.cancelled
        )
        try:
            pdf: PdfText = yield Resolve(read)
        except UnusablePageError as error:
            raise UnusablePageError(
                f"{shown_page(page.url)} {error.message}", status_code=head.status
            ) from error.__cause__
        finally:
            # A reader that was left behind stops too.
            ended.cancel()
        return pdf

    def _text(self, data: bytearray, media_type: MediaType) -> Flow[Decoded]:
        is_whole = len(data) <= self.max_response_bytes
        del data[self.max_response_bytes :]
        decode = functools.partial(
            decode_page,
            data,
            label=media_type.charset,
            kind=media_type.kind or "text",
            is_whole=is_whole,
        )
        limit = self.max_body_chars
        decoded = decode(max_chars=limit)
        if not decoded.is_cut or media_type.kind != "html":
            return decoded

        def shortened() -> Decoded:
            source, is_cut = decode(max_chars=_SHED_FROM * limit)
            text = shed_unseen(source)
            return Decoded(text[:limit], is_cut or len(text) > limit)

        # Megabytes of it: off the caller's thread, where an event loop may be waiting.
        shorter: Decoded = yield Resolve(shortened)
        return shorter

    def _refuse_type(self, page: PageUrl, head: HttpHead, media_type: MediaType | None) -> NoReturn:
        what = "names no content type" if media_type is None else f"is {media_type.essence[:100]}"
        raise UnusablePageError(
            f"{shown_page(page.url)} {what}: only HTML, text, JSON, XML and PDF can be read",
            status_code=head.status,
        )

    def _refuse_size(self, page: PageUrl, head: HttpHead, what: str) -> NoReturn:
        raise UnusablePageError(
            f"{shown_page(page.url)} {what}, more than the {self.max_response_bytes} that are "
            "read: raise max_response_bytes",
            code=WEB_FETCH_TOO_LARGE,
            status_code=head.status,
        )
