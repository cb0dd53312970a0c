"""PDF files, written by hand: nothing but the objects that a page of text needs."""

from __future__ import annotations

import zlib


def pdf(*pages: bytes, packed: bool = False) -> bytes:
    """Return a file whose pages have these content streams."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, content in enumerate(pages):
        stream = zlib.compress(content) if packed else content
        filters = b"/Filter/FlateDecode" if packed else b""
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 200]/Contents %d 0 R"
            b"/Resources<</Font<</F1 3 0 R>>>>>>" % (5 + 2 * number)
        )
        objects.append(b"<</Length %d%s>>stream\n%s\nendstream" % (len(stream), filters, stream))
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def line(text: str) -> bytes:
    """Return a content stream that shows one line."""
    return f"BT /F1 18 Tf 20 100 Td ({text}) Tj ET\n".encode()


def laborious(pages: int = 200, lines: int = 3000) -> bytes:
    """Return a small file that takes a minute to draw."""
    return pdf(*[line("x") * lines] * pages, packed=True)
