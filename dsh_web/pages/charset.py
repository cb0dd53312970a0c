"""From bytes to text: which encoding a page is in, and decoding no more than is wanted.

The order is: what the header names, a byte order mark, what the page itself names, UTF-8. Labels
mean what the Encoding Standard (encoding.spec.whatwg.org) says, which is what browsers do and not
what the labels once meant: `iso-8859-1` is windows-1252, and `gb2312` is GBK.
"""

from __future__ import annotations

import codecs
import re
from typing import Final, NamedTuple

from .media_type import PageKind

__all__ = ["Decoded", "codec_for", "decode_page"]

_LABELS: Final = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 "
    "iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 "
    "iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 "
    "iso_8859-4:1988 l4 latin4",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 "
    "iso_8859-5 iso_8859-5:1988",
    "iso8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 "
    "iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 "
    "iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek",
    "iso8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 "
    "iso88598 iso_8859-8 iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical",
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    # windows-874, which cp874 is but for the marks that Microsoft added.
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 "
    "iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 "
    "iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254",
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    # The decoder of GBK is that of its superset.
    "gb18030": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk "
    "gb18030",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022-jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 "
    "ksc_5601 windows-949",
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
}
_CODECS: Final = {label: codec for codec, labels in _LABELS.items() for label in labels.split()}

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
)

_LOOK_AT = 4096
"""Bytes in which a page may name its encoding; the standard says 1024, pages do not keep to it."""

_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_META = re.compile(rb"<meta[\s/][^>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"""([^\s"'/>=]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_IN_CONTENT = re.compile(rb"""charset\s*=\s*["']?\s*([^\s"';]+)""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([^"']+)["']""")


class Decoded(NamedTuple):
    """The text of a page."""

    text: str
    is_cut: bool
    """Whether there is more than was asked for."""


def codec_for(label: str | None) -> str | None:
    """Return Python's name for the encoding that a label means, or None if it means none."""
    return _CODECS.get(label.strip(" \t\r\n\f").lower()) if label else None


def decode_page(
    data: bytes | bytearray,
    *,
    label: str | None,
    kind: PageKind,
    max_chars: int,
    is_whole: bool = True,
) -> Decoded:
    """Return the first `max_chars` characters of a page; what cannot be decoded becomes U+FFFD.

    Args:
        data: The page as it was sent, decompressed.
        label: The encoding that its header names, if it does.
        kind: What it is, which says where it may name its encoding itself.
        max_chars: No more than these are decoded.
        is_whole: Whether `data` is all of it; if not, half a character at its end is left out.
    """
    codec, start = _encoding(data, label, kind)
    decoder = codecs.getincrementaldecoder(codec)("replace")
    pieces: list[str] = []
    size = 0
    view = memoryview(data)
    for position in range(start, len(data), _STEP):
        is_last = is_whole and position + _STEP >= len(data)
        pieces.append(decoder.decode(view[position : position + _STEP], final=is_last))
        size += len(pieces[-1])
        if size > max_chars:
            return Decoded("".join(pieces)[:max_chars], is_cut=True)
    return Decoded("".join(pieces), is_cut=False)


_STEP = 65_536


def _encoding(data: bytes | bytearray, label: str | None, kind: PageKind) -> tuple[str, int]:
    """Return the codec, and how many bytes of mark to leave out."""
    codec = codec_for(label)
    for mark, marked in _MARKS:
        if data.startswith(mark) and codec in (None, marked):
            return marked, len(mark)
    if codec is None:
        named = _named_inside(data[:_LOOK_AT], kind)
        # Whoever reads this as ASCII has shown that it is no UTF-16.
        codec = "utf-8" if named is not None and named.startswith("utf-16") else named
    return codec or "utf-8", 0


def _named_inside(start: bytes | bytearray, kind: PageKind) -> str | None:
    if kind in ("html", "xml"):
        declared = _XML_ENCODING.match(start.lstrip())
        if declared is not None:
            codec = codec_for(declared[1].decode("latin-1"))
            if codec is not None:
                return codec
    if kind != "html":
        return None
    for tag in _META.findall(_COMMENT.sub(b"", start)):
        codec = codec_for(_label_in(tag))
        if codec is not None:
            return codec
    return None


def _label_in(tag: bytes) -> str | None:
    """Return the label that a `meta` element names, if it names one."""
    attributes: dict[bytes, bytes] = {}
    for found in _ATTRIBUTE.finditer(tag, len(b"<meta")):
        # The first of several attributes of one name counts.
        attributes.setdefault(found[1].lower(), found[2] or found[3] or found[4] or b"")
    label = attributes.get(b"charset")
    if label is None and attributes.get(b"http-equiv", b"").strip().lower() == b"content-type":
        inside = _IN_CONTENT.search(attributes.get(b"content", b""))
        label = inside[1] if inside else None
    return None if label is None else label.decode("latin-1")
