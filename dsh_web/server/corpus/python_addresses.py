"""Where docs.python.org documents a name, given the module that implements it.

The rules cover the families of modules that share a page. Where a name is documented on a page that
cannot be told from its module, the address is the module's own page, with an anchor in the usual
form.
"""

from __future__ import annotations

import sys

_BASE = f"https://docs.python.org/{sys.version_info.major}.{sys.version_info.minor}/library/"

# Implementation module -> the public module whose names it defines.
_PUBLIC_MODULES = {
    "_collections_abc": "collections.abc",
    "_pydatetime": "datetime",
    "_pydecimal": "decimal",
    "_pyio": "io",
    "concurrent.futures._base": "concurrent.futures",
    "concurrent.futures.process": "concurrent.futures",
    "concurrent.futures.thread": "concurrent.futures",
    "json.decoder": "json",
    "json.encoder": "json",
    "pathlib._local": "pathlib",
    "posix": "os",
    "posixpath": "os.path",
    "re._constants": "re",
    "sqlite3.dbapi2": "sqlite3",
    "zipfile._path": "zipfile",
    "zoneinfo._zoneinfo": "zoneinfo",
    "zoneinfo._common": "zoneinfo",
}
_ASYNCIO_PAGES = {
    "base_events": "asyncio-eventloop",
    "events": "asyncio-eventloop",
    "exceptions": "asyncio-exceptions",
    "futures": "asyncio-future",
    "locks": "asyncio-sync",
    "protocols": "asyncio-protocol",
    "queues": "asyncio-queue",
    "runners": "asyncio-runner",
    "streams": "asyncio-stream",
    "subprocess": "asyncio-subprocess",
    "taskgroups": "asyncio-task",
    "tasks": "asyncio-task",
    "threads": "asyncio-task",
    "timeouts": "asyncio-task",
    "transports": "asyncio-protocol",
}
# Packages whose modules are documented on the package's page, under their full names ...
_ONE_PAGE = frozenset(
    {"ctypes", "dbm", "encodings", "lib", "multiprocessing", "wsgiref", "zoneinfo"}
)
# ... or under the package's name.
_ONE_NAMESPACE = frozenset({"unittest", "tomllib"})
_OWN_PAGE = frozenset({"multiprocessing.shared_memory", "unittest.mock"})
_RENAMED_PAGES = {
    "encodings": "codecs",
    "xml.sax.saxutils": "xml.sax.utils",
    "xml.sax.xmlreader": "xml.sax.reader",
}


def public_module(module: str) -> str:
    """Return the module under whose name the public knows what `module` defines."""
    if module in _PUBLIC_MODULES:
        return _PUBLIC_MODULES[module]
    package = module.partition(".")[0]
    if package == "asyncio" or (package in _ONE_NAMESPACE and module not in _OWN_PAGE):
        return package
    return module


def address(module: str, qualname: str = "") -> str:
    """Return the documentation address of a module or of a name in it.

    Args:
        module: The module that implements the name.
        qualname: The name inside the module, such as `Path.mkdir`; empty for the module itself.
    """
    public = public_module(module)
    page = _page(module, public)
    if not qualname:
        is_whole_page = page == public
        return f"{_BASE}{page}.html" if is_whole_page else f"{_BASE}{page}.html#module-{module}"
    return f"{_BASE}{page}.html#{public}.{qualname}"


def builtin_address(name: str) -> str:
    """Return the documentation address of a built-in name, such as `len` or `str.join`."""
    import builtins

    owner = getattr(builtins, name.partition(".")[0], None)
    if isinstance(owner, type) and issubclass(owner, BaseException):
        page = "exceptions"
    elif "." in name or (isinstance(owner, type) and name not in _TYPES_AMONG_FUNCTIONS):
        page = "stdtypes"
    else:
        page = "functions"
    return f"{_BASE}{page}.html#{name}"


# Classes that docs.python.org describes as functions.
_TYPES_AMONG_FUNCTIONS = frozenset(
    {
        "bool",
        "classmethod",
        "complex",
        "enumerate",
        "filter",
        "float",
        "int",
        "map",
        "object",
    }
    | {"property", "reversed", "slice", "staticmethod", "super", "type", "zip"}
)


def _page(module: str, public: str) -> str:
    package, _, rest = module.partition(".")
    if package == "asyncio":
        return _ASYNCIO_PAGES.get(rest, "asyncio")
    if module in _OWN_PAGE:
        return module
    if package in _ONE_PAGE | _ONE_NAMESPACE:
        return _RENAMED_PAGES.get(package, package)
    return _RENAMED_PAGES.get(public, public)
