"""Self-contained functions carved out of a module, each a short document of its own.

Carved are top-level functions that have a docstring, or are tests, and that use nothing of their module
but what it imports: those imports go on top, and the whole stands alone, as what people write and ask for.
"""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterator

_BUILTINS = frozenset(dir(builtins)) | {"__name__", "__file__"}
_SHORTEST, _LONGEST = 120, 6000  # characters
_LARGEST = 200_000
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def carve(source: str) -> Iterator[str]:
    """Every self-contained function of a module, with the imports it needs; nothing if it does not parse."""
    if "def " not in source or len(source) > _LARGEST:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in other people's strings
            module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    # ast counts lines as Python does, which is not as str.splitlines does.
    lines = source.split("\n")
    imports = _imports(module)
    for node in module.body:
        if not isinstance(node, _Function) or not _wanted(node):
            continue
        needed = free_names(node) - _BUILTINS
        if not needed <= imports.keys():
            continue
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        head = sorted({_line(imports[name], name) for name in needed})
        body = "\n".join(lines[first - 1 : node.end_lineno]).rstrip()
        text = "\n".join(head) + "\n\n\n" + body + "\n" if head else body + "\n"
        if _SHORTEST <= len(text) <= _LONGEST:
            yield text


def free_names(function: _Function) -> set[str]:
    """Names a function reads and nothing inside it binds (scopes inside it are taken as one)."""
    read: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            bound.add(node.name or "")
        elif isinstance(node, ast.alias):
            bound.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.MatchMapping) and node.rest:
            bound.add(node.rest)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            read.update(node.names)
    outer = {node for d in function.decorator_list for node in ast.walk(d) if isinstance(node, ast.Name)}
    return (read - bound) | {node.id for node in outer}


def _wanted(node: _Function) -> bool:
    return ast.get_docstring(node, clean=False) is not None or node.name.startswith("test_")


def _imports(module: ast.Module) -> dict[str, tuple[str, ast.alias] | tuple[None, ast.alias]]:
    """Name → where it comes from; relative imports are of the package, so nothing stands alone with them."""
    found: dict[str, tuple[str, ast.alias] | tuple[None, ast.alias]] = {}
    for node in module.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = (None, alias)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if node.module != "__future__" and alias.name != "*":
                    found[alias.asname or alias.name] = (node.module, alias)
    return found


def _line(imported: tuple[str | None, ast.alias], name: str) -> str:
    module, alias = imported
    what = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
    return f"from {module} import {what}" if module else f"import {what}"
