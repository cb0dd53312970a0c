"""Which encoding a page is read in."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web.pages.charset import _LABELS, codec_for, decode_page
from dsh_web.pages.media_type import read_media_type

PLENTY = 1_000_000


def text_of(data: bytes, label: str | None = None, kind: str = "html", **limits: int) -> str:
    return decode_page(data, label=label, kind=kind, max_chars=PLENTY, **limits).text  # type: ignore[arg-type]


# Label, a text, and its bytes as the Encoding Standard decodes them.
TABLE = [
    ("utf-8", "naïve €", b"na\xc3\xafve \xe2\x82\xac"),
    ("UTF8", "ä", b"\xc3\xa4"),
    (" utf-8 \n", "ä", b"\xc3\xa4"),
    ("iso-8859-1", "“€”", b"\x93\x80\x94"),
    ("latin1", "€", b"\x80"),
    ("us-ascii", "ä", b"\xe4"),
    ("windows-1252", "ŠŽ", b"\x8a\x8e"),
    ("windows-1251", "Привет", "Привет".encode("cp1251")),
    ("koi8-r", "Привет", "Привет".encode("koi8-r")),
    ("koi8-u", "Їжак", "Їжак".encode("koi8-u")),
    ("ibm866", "Привет", "Привет".encode("cp866")),
    ("iso-8859-5", "Привет", "Привет".encode("iso8859-5")),
    ("x-mac-cyrillic", "Привет", "Привет".encode("mac-cyrillic")),
    ("windows-1250", "žluťoučký", "žluťoučký".encode("cp1250")),
    ("iso-8859-2", "žluťoučký", "žluťoučký".encode("iso8859-2")),
    ("windows-1253", "Καλημέρα", "Καλημέρα".encode("cp1253")),
    ("iso-8859-7", "Καλημέρα", "Καλημέρα".encode("iso8859-7")),
    ("iso-8859-9", "ğüşİ€", "ğüşİ€".encode("cp1254")),
    ("windows-1255", "שלום", "שלום".encode("cp1255")),
    ("iso-8859-8-i", "שלום", "שלום".encode("iso8859-8")),
    ("windows-1256", "مرحبا", "مرحبا".encode("cp1256")),
    ("iso-8859-6", "مرحبا", "مرحبا".encode("iso8859-6")),
    ("windows-1257", "ąčęė", "ąčęė".encode("cp1257")),
    ("iso-8859-13", "ąčęė", "ąčęė".encode("iso8859-13")),
    ("iso-8859-15", "€œ", "€œ".encode("iso8859-15")),
    ("iso-8859-16", "șț", "șț".encode("iso8859-16")),
    ("windows-1258", "đ", "đ".encode("cp1258")),
    ("tis-620", "สวัสดี", "สวัสดี".encode("cp874")),
    ("macintosh", "é", b"\x8e"),
    ("gb2312", "今日股市", "今日股市".encode("gbk")),
    ("GBK", "朱镕基", "朱镕基".encode("gbk")),
    ("gb18030", "𠮷", "𠮷".encode("gb18030")),
    ("big5", "繁體中文", "繁體中文".encode("big5")),
    ("shift_jis", "吾輩①髙", "吾輩①髙".encode("cp932")),
    ("x-sjis", "猫", "猫".encode("cp932")),
    ("euc-jp", "吾輩は猫", "吾輩は猫".encode("euc-jp")),
    ("iso-2022-jp", "吾輩は猫", "吾輩は猫".encode("iso2022-jp")),
    ("euc-kr", "안녕똠", "안녕똠".encode("cp949")),
    ("ks_c_5601-1987", "안녕", "안녕".encode("euc-kr")),
    ("utf-16le", "aé", "aé".encode("utf-16-le")),
    ("utf-16be", "aé", "aé".encode("utf-16-be")),
    ("utf-16", "aé", "aé".encode("utf-16-le")),
]  # fmt: skip


@pytest.mark.parametrize(("label", "text", "data"), TABLE, ids=[row[0] for row in TABLE])
def test_a_label_in_the_header_means_what_browsers_take_it_for(label, text, data):
    assert text == text_of(data, label)


IN_PAGE = [row for row in TABLE if not row[0].strip().lower().startswith("utf-16")]


@pytest.mark.parametrize(("label", "text", "data"), IN_PAGE, ids=[row[0] for row in IN_PAGE])
def test_a_label_in_the_page_means_the_same(label, text, data):
    start = f'<html><head><meta charset="{label}">'.encode()

    assert text in text_of(start + data)


def test_every_codec_exists_and_every_label_is_in_lower_case():
    for codec, labels in _LABELS.items():
        assert codecs.getincrementaldecoder(codec)
        assert labels == labels.lower()
    assert len([label for labels in _LABELS.values() for label in labels.split()]) > 200


def test_no_label_means_two_encodings():
    labels = [label for labels in _LABELS.values() for label in labels.split()]

    assert len(labels) == len(set(labels))


CYRILLIC = "Привет".encode("cp1251")


@pytest.mark.parametrize(
    "start",
    [
        b"<meta charset=windows-1251>",
        b"<META CharSet='Windows-1251'/>",
        b'<meta charset = "windows-1251" >',
        b"<meta\ncharset=windows-1251>",
        b'<meta name=x><meta charset="windows-1251">',
        b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
        b"<meta content='text/html;charset=windows-1251' http-equiv=content-type>",
        b'<?xml version="1.0" encoding="windows-1251"?><html>',
        b"<!-- <meta charset=koi8-r> --><meta charset=windows-1251>",
        b"<meta charset=no-such-thing><meta charset=windows-1251>",
        b" " * 3000 + b"<meta charset=windows-1251>",
        b'<meta name="description" content="charset=koi8-r"><meta charset=windows-1251>',
    ],
)
def test_a_page_names_its_own_encoding(start):
    assert text_of(start + CYRILLIC).endswith("Привет")


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"<!-- <meta charset=koi8-r> -->",
        b'<meta name="description" content="charset=koi8-r">',
        b"<meta charset=no-such-thing>",
        b"<meta charset>",
        b"<p>charset=koi8-r",
        b"x" * 5000 + b"<meta charset=koi8-r>",
    ],
)
def test_without_a_name_it_is_utf_8(start):
    assert text_of(start + "ж".encode()).endswith("ж")


def test_the_header_comes_first():
    page = b"<meta charset=koi8-r>" + CYRILLIC

    assert text_of(page, "windows-1251").endswith("Привет")


def test_a_label_in_the_header_that_means_nothing_is_passed_over():
    assert text_of(b"<meta charset=windows-1251>" + CYRILLIC, "no-such-thing").endswith("Привет")


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_comes_before_the_page_and_is_left_out(codec):
    data = ("\ufeff<meta charset=koi8-r>ж").encode(codec)

    assert text_of(data) == "<meta charset=koi8-r>ж"
    assert text_of(data, codec.replace("16-", "16")) == "<meta charset=koi8-r>ж"
    assert text_of(data, "no-such-thing", "text") == "<meta charset=koi8-r>ж"


def test_a_page_that_calls_itself_utf_16_in_ascii_is_utf_8():
    assert text_of("<meta charset=utf-16>ж".encode()).endswith("ж")


def test_xml_names_its_encoding_in_its_declaration_only():
    declared = b'<?xml version="1.0" encoding="windows-1251"?><a>' + CYRILLIC

    assert text_of(declared, kind="xml").endswith("Привет")
    assert "\ufffd" in text_of(b"<meta charset=windows-1251>" + CYRILLIC, kind="xml")
    assert "\ufffd" in text_of(declared, kind="text")


def test_what_cannot_be_decoded_is_replaced():
    assert text_of(b"a\xffb\xc3") == "a\ufffdb\ufffd"


@pytest.mark.parametrize(
    "label", ["hz-gb-2312", "iso-2022-kr", "utf-7", "utf-32", "idna", "zlib", "rot13", "hex"]
)
def test_encodings_that_browsers_refuse_are_no_labels(label):
    assert codec_for(label) is None


@given(st.text(min_size=1), st.integers(1, 40), st.sampled_from(["utf-8", "utf-16le", "gb18030"]))
def test_no_more_characters_are_decoded_than_wanted(text, limit, codec):
    text = text.replace("\ufeff", "")
    data = text.encode(codec, "replace")
    expected = data.decode(codec, "replace")
    decoded = decode_page(data, label=codec, kind="text", max_chars=limit)

    assert (expected[:limit], len(expected) > limit) == decoded


def test_a_large_page_is_cut_at_the_same_place():
    data = ("ж" * 200_000).encode()
    decoded = decode_page(data, label=None, kind="text", max_chars=100_001)

    assert ("ж" * 100_001, True) == decoded


@given(
    st.binary(max_size=3000),
    st.sampled_from(["html", "xml", "text"]),
    st.one_of(st.none(), st.text(max_size=20)),
)
def test_any_bytes_become_text(data, kind, label):
    assert isinstance(text_of(data, label, kind), str)


@pytest.mark.parametrize(
    "piece", [b"<!--", b"<meta ", b"<meta charset=", b"<?xml ", b"<meta charset='"]
)
def test_a_start_made_to_confuse_costs_no_time(piece):
    # A guard against patterns that try every combination: minutes, not milliseconds.
    assert text_of(piece * 100_000)


@pytest.mark.parametrize(
    ("header", "essence", "charset"),
    [
        ("text/html", "text/html", None),
        (" Text/HTML ; Charset = UTF-8", "text/html", "UTF-8"),
        ('text/html; charset="GBK"', "text/html", "GBK"),
        ("text/html; charset='GBK'", "text/html", "GBK"),
        ('text/html; x="y"; charset=a', "text/html", "a"),
        ("text/html;charset=a;charset=b", "text/html", "a"),
        ("text/html; charset=", "text/html", None),
        ("text/html; charset", "text/html", None),
        ("text/html,application/json", "text/html", None),
    ],
)
def test_a_content_type_is_read_leniently(header, essence, charset):
    media_type = read_media_type(header)

    assert media_type is not None
    assert (essence, charset) == (media_type.essence, media_type.charset)


@pytest.mark.parametrize(
    "header", [None, "", "html", "text", "text/", "/html", ";", "text html/x y"]
)
def test_what_names_no_type_is_none(header):
    assert read_media_type(header) is None


@given(st.text(max_size=200))
def test_any_header_is_read_without_a_failure(header):
    read_media_type(header)
