"""Compressed bodies: all that are common are read, and none of them fills the memory."""

from __future__ import annotations

import functools
import gzip
import importlib.util
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_web import TransportError
from dsh_web._io.decode import BodyDecoder
from dsh_web._io.unfold import PIECE

from ..io.raw_server import RawServer, answering, answering_once
from .conftest import Fetch, Web, failure, page

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

WebWith = Callable[..., tuple[Web, RawServer]]


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstd.compress),
    "upper case": ("GZIP", gzip.compress),
    "two layers": ("gzip, br", lambda data: brotli.compress(gzip.compress(data))),
    "three layers": (
        "zstd, identity, gzip, deflate",
        lambda data: zlib.compress(gzip.compress(zstd.compress(data))),
    ),
    "several members": ("gzip", lambda data: gzip.compress(data[:3]) + gzip.compress(data[3:])),
    "several frames": ("zstd", lambda data: zstd.compress(data[:3]) + zstd.compress(data[3:])),
}
TEXT = "<p>Grüße aus Bonn.</p>" * 50


@pytest.mark.parametrize(("encoding", "pack"), PACKERS.values(), ids=PACKERS.keys())
def test_a_compressed_page_is_read(
    fetch: Fetch, web_with: WebWith, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    web, _ = web_with(answering(page(pack(TEXT.encode()), content_encoding=encoding)))

    assert fetch(web.runtime(), "http://ok.example/").body.content == TEXT


def test_layers_on_lines_of_their_own_are_all_undone(fetch: Fetch, web_with: WebWith) -> None:
    body = brotli.compress(gzip.compress(TEXT.encode()))
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {len(body)}\r\n"
    layers = "content-encoding: gzip\r\ncontent-encoding: br\r\n\r\n"
    web, _ = web_with(answering((head + layers).encode() + body))

    assert fetch(web.runtime(), "http://ok.example/").body.content == TEXT


@given(st.binary(max_size=5000), st.sampled_from(sorted(PACKERS)), st.integers(1, 700))
def test_it_does_not_matter_where_a_body_is_split(data: bytes, name: str, step: int) -> None:
    encoding, pack = PACKERS[name]
    packed = pack(data)
    decoder = BodyDecoder({"content-encoding": encoding}, 10_000)
    chunks = [packed[start : start + step] for start in range(0, len(packed), step)]

    assert data == b"".join(piece for chunk in chunks for piece in decoder.pieces(chunk))
    decoder.finish()


def test_what_can_be_undone_is_asked_for(fetch: Fetch, web_with: WebWith) -> None:
    web, server = web_with(answering(page()))
    fetch(web.runtime(), "http://ok.example/")

    assert server.requests[0].header("accept-encoding") == "gzip, deflate, br, zstd"


WITHOUT_LIBRARIES = """
import sys
for name in ("brotli", "brotlicffi", "backports.zstd", "compression.zstd"):
    sys.modules[name] = None
from dsh_web import TransportError
from dsh_web._io.decode import BodyDecoder, accept_encoding
assert accept_encoding() == "gzip, deflate", accept_encoding()
for encoding in ("br", "zstd"):
    try:
        BodyDecoder({"content-encoding": encoding}, 10)
    except TransportError as error:
        assert "dsh-web[compression]" in str(error), error
    else:
        raise AssertionError(encoding)
"""


def test_without_their_libraries_they_are_not_asked_for_and_refused_by_name(
    run_script: Callable[..., Any],
) -> None:
    done = run_script(WITHOUT_LIBRARIES)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("encoding", ["compress", "sdch", "gzip, sdch", "\x01"])
def test_an_encoding_that_nothing_undoes_is_refused(
    fetch: Fetch, web_with: WebWith, encoding: str
) -> None:
    web, _ = web_with(answering(page(b"x", content_encoding=encoding)))
    error = failure(lambda: fetch(web.runtime(), "http://ok.example/"))

    assert error.code == "WEB_PROVIDER_ERROR"
    assert "sdch" not in error.message


def test_more_layers_than_anybody_needs_are_refused(fetch: Fetch, web_with: WebWith) -> None:
    body = functools.reduce(lambda data, _: gzip.compress(data), range(5), b"x")
    web, _ = web_with(answering(page(body, content_encoding=", ".join(["gzip"] * 5))))

    assert "times over" in failure(lambda: fetch(web.runtime(), "http://ok.example/")).message


@pytest.mark.parametrize("name", ["gzip", "deflate", "raw deflate", "br", "zstd", "two layers"])
def test_a_damaged_body_is_a_failure(fetch: Fetch, web_with: WebWith, name: str) -> None:
    encoding, pack = PACKERS[name]
    body = bytearray(pack(bytes(range(256)) * 40))
    body[len(body) // 3] ^= 0xFF
    body[len(body) // 2] ^= 0xFF
    web, _ = web_with(answering(page(bytes(body[:-4]), content_encoding=encoding)))

    assert failure(lambda: fetch(web.runtime(), "http://ok.example/")).code == "WEB_PROVIDER_ERROR"


@pytest.mark.parametrize("name", sorted(PACKERS))
def test_a_body_that_ends_early_is_a_failure(fetch: Fetch, web_with: WebWith, name: str) -> None:
    encoding, pack = PACKERS[name]
    web, _ = web_with(answering(page(pack(TEXT.encode())[:-3], content_encoding=encoding)))

    assert failure(lambda: fetch(web.runtime(), "http://ok.example/")).code == "WEB_PROVIDER_ERROR"


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "br", "zstd", "br, gzip"]))
def test_any_bytes_are_decoded_or_refused(data: bytes, encoding: str) -> None:
    decoder = BodyDecoder({"content-encoding": encoding}, 1000, "cut")
    try:
        size = sum(len(piece) for piece in decoder.pieces(data))
        decoder.finish()
    except TransportError:
        return
    assert size <= 1000


# -- bombs -----------------------------------------------------------------------------------------

CAP = 1_048_576
MEBIBYTE = b"\0" * 1_048_576


def _packed(size: int, pack: Callable[[bytes], bytes], flush: Callable[[], bytes]) -> bytes:
    return b"".join([*(pack(MEBIBYTE) for _ in range(size)), flush()])


@functools.cache
def bomb(name: str) -> tuple[str, bytes]:
    """Return an encoding and a body that unfolds to 256 MiB or more."""
    if name == "br":
        packer = brotli.Compressor(quality=5)
        return "br", _packed(256, packer.process, packer.finish)
    if name == "zstd":
        packer = zstd.ZstdCompressor()
        return "zstd", _packed(256, packer.compress, packer.flush)
    wbits = {"gzip": 31, "deflate": 15, "raw deflate": -15, "gzip in gzip": 31}[name]
    packer = zlib.compressobj(9, wbits=wbits)
    body = _packed(256, packer.compress, packer.flush)
    if name == "gzip in gzip":
        return "gzip, gzip", gzip.compress(body)
    return name.removeprefix("raw "), body


BOMBS = ["gzip", "deflate", "raw deflate", "br", "zstd", "gzip in gzip"]


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_cut_at_the_cap_and_never_in_memory(
    fetch: Fetch, web_with: WebWith, name: str
) -> None:
    encoding, body = bomb(name)
    # Without a length, and so not refused for it.
    web, _ = web_with(answering_once(page(body, content_encoding=encoding, length=None)))
    runtime = web.runtime(max_response_bytes=CAP, max_body_chars=10)
    tracemalloc.start()
    try:
        result = fetch(runtime, "http://ok.example/")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert result.truncated
    assert len(result.body.content) == 10
    # The body, the packed bytes that were received, some pieces, and the server of this test.
    assert peak < CAP + 3_000_000 + len(body)


@pytest.mark.parametrize("name", BOMBS)
def test_pieces_stay_small(name: str) -> None:
    encoding, body = bomb(name)
    decoder = BodyDecoder({"content-encoding": encoding}, 20 * CAP, "cut")
    sizes = [
        len(piece)
        for start in range(0, len(body), 65_536)
        for piece in decoder.pieces(body[start : start + 65_536])
    ]

    assert max(sizes) <= 2 * PIECE
    assert sum(sizes) <= 20 * CAP


RESIDENT = """
import resource, sys
from dsh_web._io.decode import BodyDecoder
encoding, name = sys.argv[1:]
body = open(name, "rb").read()
decoder = BodyDecoder({"content-encoding": encoding}, 1_048_576, "cut")
for piece in decoder.pieces(b""):
    pass
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
size = 0
for start in range(0, len(body), 65536):
    for piece in decoder.pieces(body[start : start + 65536]):
        size += len(piece)
    if decoder.is_cut:
        break
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert size == 1_048_576, size
print(after - before)
"""


@pytest.mark.skipif(importlib.util.find_spec("resource") is None, reason="no rusage here")
@pytest.mark.parametrize("name", BOMBS)
def test_nor_do_the_libraries_take_memory_of_their_own(
    name: str, tmp_path: Any, run_script: Callable[..., Any]
) -> None:
    encoding, body = bomb(name)
    (tmp_path / "bomb").write_bytes(body)
    done = run_script(RESIDENT, encoding, str(tmp_path / "bomb"))

    assert done.returncode == 0, done.stderr
    # Kibibytes: the window of brotli is 16 MiB at most, that of zstd 8 MiB.
    assert int(done.stdout) < 32_768


def test_a_frame_that_asks_for_a_huge_window_is_refused() -> None:
    levels = {
        zstd.CompressionParameter.window_log: 27,
        zstd.CompressionParameter.content_size_flag: 0,
    }
    packer = zstd.ZstdCompressor(options=levels)
    body = packer.compress(b"x") + packer.flush()
    decoder = BodyDecoder({"content-encoding": "zstd"}, CAP)

    with pytest.raises(TransportError, match="cannot decompress"):
        list(decoder.pieces(body))


def test_compression_that_only_grows_is_refused() -> None:
    """Empty blocks without end decode to nothing and would keep the call busy for ever."""
    packer = zlib.compressobj(wbits=31)
    start = packer.compress(b"x") + packer.flush(zlib.Z_SYNC_FLUSH)
    decoder = BodyDecoder({"content-encoding": "gzip"}, 1000, "cut")

    def feed() -> Iterator[bytes]:
        yield from decoder.pieces(start)
        for _ in range(1000):
            yield from decoder.pieces(b"\x00\x00\x00\xff\xff" * 200)

    with pytest.raises(TransportError, match="larger than"):
        list(feed())


def test_so_is_such_a_layer_inside_another() -> None:
    packer = zlib.compressobj(wbits=31)
    inner = (
        packer.compress(b"x")
        + packer.flush(zlib.Z_SYNC_FLUSH)
        + b"\x00\x00\x00\xff\xff" * 2_000_000
    )
    decoder = BodyDecoder({"content-encoding": "gzip, gzip"}, 1000, "cut")

    with pytest.raises(TransportError, match="larger than"):
        list(decoder.pieces(gzip.compress(inner, 1)))


@pytest.mark.parametrize(
    ("encoding", "part"), [("gzip", gzip.compress(b"")), ("zstd", zstd.compress(b""))]
)
def test_so_is_a_body_of_parts_without_end(encoding: str, part: bytes) -> None:
    decoder = BodyDecoder({"content-encoding": encoding}, 10_000_000)

    with pytest.raises(TransportError, match="more than 10000 parts"):
        list(decoder.pieces(part * 11_000))
