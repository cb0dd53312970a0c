"""Reads the docstrings of Python source without running any of it."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

_EXPORTS = re.compile(r"^\s*__all__\b", re.MULTILINE)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Docstring:
    """The documentation of one module, class, function or method."""

    qualname: str
    """Name inside the module, such as `Path.mkdir`; empty for the module."""
    signature: str
    """Call form, such as `(self, mode=0o777)`; empty where there is none."""
    text: str


def docstrings(source: str) -> Iterator[Docstring]:
    """Yield the docstrings of a module's public names, the module's own first.

    If the module states `__all__` as a literal, only the names in it are public; otherwise those
    without a leading underscore. The text of a class ends with the first lines of its methods.

    Raises:
        SyntaxError: if the source is not for this Python.
    """
    module = ast.parse(source)
    text = ast.get_docstring(module)
    if text:
        yield Docstring("", "", text)
    exported = _exported_names(module, source)
    for node in module.body:
        if not isinstance(node, _Function | ast.ClassDef):
            continue
        public = not node.name.startswith("_") if exported is None else node.name in exported
        if public and isinstance(node, ast.ClassDef):
            yield from _class_docstrings(node)
        elif public and isinstance(node, _Function):
            yield from _function_docstring(node, "")


def _class_docstrings(node: ast.ClassDef) -> Iterator[Docstring]:
    methods = [
        found
        for part in node.body
        if isinstance(part, _Function) and not part.name.startswith("_")
        for found in _function_docstring(part, f"{node.name}.")
    ]
    own = ast.get_docstring(node) or ""
    listing = "\n".join(f"{m.qualname}: {_first_line(m.text)}" for m in methods)
    text = "\n\n".join(part for part in (own, listing) if part)
    if text:
        yield Docstring(node.name, _constructor_signature(node), text)
    yield from methods


def _function_docstring(node: _Function, prefix: str) -> Iterator[Docstring]:
    text = ast.get_docstring(node)
    if text:
        yield Docstring(prefix + node.name, f"({ast.unparse(node.args)})", text)


def _constructor_signature(node: ast.ClassDef) -> str:
    for part in node.body:
        if isinstance(part, _Function) and part.name == "__init__":
            arguments = ast.unparse(part.args).removeprefix("self").removeprefix(", ")
            return f"({arguments})"
    return ""


def _exported_names(module: ast.Module, source: str) -> set[str] | None:
    if len(_EXPORTS.findall(source)) != 1:
        # Absent, or extended step by step, as in `os`.
        return None
    for node in module.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        ):
            try:
                return set(ast.literal_eval(node.value))
            except (ValueError, TypeError):
                return None
    return None


def _first_line(text: str) -> str:
    return inspect.cleandoc(text).partition("\n")[0]
