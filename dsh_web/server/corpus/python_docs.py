"""The documentation of the running Python as a corpus: its standard library's docstrings.

Source files are parsed, never imported, so that reading them has no side effects. Modules without
source are asked through `inspect`; those are a fixed list that is safe to import.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import os
import re
import sysconfig
import tokenize
import types
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from dsh_web.server.corpus.document import Document, file_dates
from dsh_web.server.corpus.python_addresses import (
    address,
    builtin_address,
    public_module,
)
from dsh_web.server.corpus.python_source import Docstring, docstrings

_SKIPPED_PARTS = frozenset(
    {
        "test",
        "tests",
        "idlelib",
        "lib2to3",
        "distutils",
        "ensurepip",
        "lib-dynload",
        "pydoc_data",
    }
    | {
        "site-packages",
        "turtledemo",
        "__pycache__",
        "__main__",
        "__phello__",
        "__hello__",
    }
)
# No page of docs.python.org describes these.
_UNDOCUMENTED = frozenset(
    {
        "antigravity",
        "genericpath",
        "idlelib",
        "macpath",
        "ntpath",
        "nturl2path",
        "opcode",
        "sre_compile",
    }
    | {"sre_constants", "sre_parse", "this"}
)
_PUBLIC_IN_PRIVATE = frozenset(
    {
        "_collections_abc",
        "_pydatetime",
        "_pydecimal",
        "_pyio",
        "concurrent.futures._base",
    }
    | {"pathlib._local", "zipfile._path", "zoneinfo._zoneinfo"}
)
_WITHOUT_SOURCE = (
    *("array", "atexit", "binascii", "cmath", "collections", "contextvars", "csv", "errno"),
    *("functools", "gc", "hashlib", "itertools", "math", "os", "re", "select", "signal", "socket"),
    *("ssl", "string", "struct", "sys", "threading", "time", "unicodedata", "zlib"),
)
# Built-ins that `site` adds for the interactive prompt.
_FOR_THE_PROMPT = frozenset({"copyright", "credits", "license", "exit", "quit", "help"})
_PLAIN_TYPES = (
    str,
    bytes,
    bytearray,
    int,
    float,
    list,
    dict,
    set,
    frozenset,
    tuple,
    range,
    memoryview,
)


def python_documents() -> Iterator[Document]:
    """Yield a page for each documented public name of the standard library and of the built-ins."""
    yield from _builtin_documents()
    for name in _WITHOUT_SOURCE:
        yield from _compiled_documents(name)
    library = Path(sysconfig.get_paths()["stdlib"])
    for folder, subfolders, files in os.walk(library):
        # Pruned in place: what is installed for the user may be far larger than the library.
        subfolders[:] = sorted(set(subfolders) - _SKIPPED_PARTS)
        for file in sorted(files):
            path = Path(folder, file)
            module = _module_name(path.relative_to(library)) if path.suffix == ".py" else None
            if module is not None:
                yield from _source_documents(path, module)


def _module_name(relative: Path) -> str | None:
    parts = relative.with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    name = ".".join(parts)
    if not parts or _SKIPPED_PARTS.intersection(parts) or name in _UNDOCUMENTED or "-" in name:
        return None
    if parts[0] == "encodings" and len(parts) > 1:
        return None
    is_private = any(part.startswith("_") for part in parts) and name != "__future__"
    return None if is_private and name not in _PUBLIC_IN_PRIVATE else name


def _source_documents(path: Path, module: str) -> Iterator[Document]:
    try:
        with tokenize.open(path) as file:
            found = list(docstrings(file.read()))
    except (OSError, SyntaxError, UnicodeDecodeError):
        # A file that this Python cannot read documents nothing that this Python has.
        return
    modified = path.stat().st_mtime
    for docstring in found:
        url = address(module, docstring.qualname)
        yield _document(url, public_module(module), docstring, modified)


def _compiled_documents(name: str) -> Iterator[Document]:
    module = importlib.import_module(name)
    modified = _library_modified()
    for attribute, value in sorted(vars(module).items()):
        if attribute.startswith("_") or not _is_compiled(value, module):
            continue
        for docstring in _live_docstrings(attribute, value):
            yield _document(address(name, docstring.qualname), name, docstring, modified)
    if inspect.getdoc(module) and not hasattr(module, "__file__"):
        docstring = Docstring("", "", inspect.getdoc(module) or "")
        yield _document(address(name), name, docstring, modified)


def _builtin_documents() -> Iterator[Document]:
    modified = _library_modified()
    for name, value in sorted(vars(builtins).items()):
        if name.startswith("_") or name in _FOR_THE_PROMPT:
            continue
        if not callable(value):
            continue
        for docstring in _live_docstrings(name, value, with_methods=value in _PLAIN_TYPES):
            yield _document(builtin_address(docstring.qualname), "builtins", docstring, modified)


def _live_docstrings(name: str, value: object, with_methods: bool = True) -> Iterator[Docstring]:
    text = inspect.getdoc(value)
    if text:
        yield Docstring(name, _live_signature(value), text)
    if not isinstance(value, type) or not with_methods:
        return
    for attribute, method in sorted(vars(value).items()):
        method_text = "" if attribute.startswith("_") else inspect.getdoc(method)
        if method_text and callable(method):
            yield Docstring(f"{name}.{attribute}", _live_signature(method), method_text)


def _live_signature(value: object) -> str:
    try:
        return str(inspect.signature(value))  # type: ignore[arg-type]
    except (AttributeError, NameError, TypeError, ValueError):
        # `inspect` evaluates the defaults of compiled functions and cannot resolve all of them.
        return ""


def _is_compiled(value: object, module: ModuleType) -> bool:
    if not isinstance(value, types.BuiltinFunctionType | type):
        return False
    # Only what the module calls its own: `os` for example also holds classes of other modules.
    owners = {module.__name__, f"_{module.__name__}", "posix", "nt", "_thread"}
    return value.__module__ in owners


def _library_modified() -> float:
    return Path(sysconfig.get_paths()["stdlib"], "os.py").stat().st_mtime


def _document(url: str, module: str, docstring: Docstring, modified: float) -> Document:
    name = docstring.qualname
    if not name:
        title = f"{module} — {docstring.text.strip().partition(chr(10))[0].rstrip('.')}"
        text = docstring.text
    else:
        full_name = name if module == "builtins" else f"{module}.{name}"
        title = f"{full_name} — {module}"
        text = f"{full_name}{docstring.signature}\n\n{docstring.text}"
    published, updated = file_dates(url, modified)
    return Document(
        url, title, re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE), published, updated
    )
