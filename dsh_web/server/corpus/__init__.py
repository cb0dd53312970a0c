"""The pages the server can find: where they come from, and the full-text index over them."""

from dsh_web.server.corpus.document import Document
from dsh_web.server.corpus.index import Index
from dsh_web.server.corpus.opening import open_corpus

__all__ = ["Document", "Index", "open_corpus"]
