"""Arguments on the command line: `f32[2,3]` for an array, Python literals, and containers of both."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from stagec.api.arguments import ShapeDtypeStruct
from stagec.commands.common import failure, usage
from stagec.core import dtypes
from stagec.core.config import config
from stagec.core.errors import DtypeError

_EMPTY_BRACKETS = re.compile(r"(?<=\w)\[\s*\]")
_FIX = "write an array as f32[2,3] or i32[], a number as 2.0, a container as {'w': f32[3], 'b': f32[]}"


def parse_spec(text: str) -> Any:
    """An argument's description as what it stands for.

    Raises:
      click.UsageError: it is no description, or its dtype is not known or not enabled.

    >>> parse_spec("f32[2,3]")
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    >>> parse_spec("{'w': i32[], 'rate': 0.5}")
    {'w': ShapeDtypeStruct(shape=(), dtype=int32), 'rate': 0.5}
    """
    try:
        # Python has no empty subscript; the empty tuple means the same.
        tree = ast.parse(_EMPTY_BRACKETS.sub("[()]", text.strip()), mode="eval").body
    except (SyntaxError, ValueError):
        raise usage(f"{text!r} does not describe an argument", _FIX) from None
    return _value(tree, text)


def _value(node: ast.expr, text: str) -> Any:
    match node:
        case ast.Name(id=name):
            return _array(name, (), text)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=elements)):
            return _array(name, tuple(_extent(e, text) for e in elements), text)
        case ast.Subscript(value=ast.Name(id=name), slice=element):
            return _array(name, (_extent(element, text),), text)
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {_literal(k, text): _value(v, text) for k, v in zip(keys, values)}  # type: ignore[arg-type]
        case ast.List(elts=elements):
            return [_value(e, text) for e in elements]
        case ast.Tuple(elts=elements):
            return tuple(_value(e, text) for e in elements)
    return _literal(node, text)


def _literal(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        raise usage(f"{ast.unparse(node)!r} in {text!r} does not describe an argument", _FIX) from None


def _extent(node: ast.expr, text: str) -> int:
    value = _literal(node, text)
    if type(value) is not int or value < 0:
        raise usage(f"{ast.unparse(node)!r} in {text!r} is not the size of an axis", "sizes are integers from 0 on")
    return value


def _array(name: str, shape: tuple[int, ...], text: str) -> ShapeDtypeStruct:
    try:
        dtype = dtypes.from_short(name)
    except DtypeError as error:
        raise usage(f"in {text!r}: {error}") from None
    found = ShapeDtypeStruct(shape, dtype)
    if found.dtype != dtype and not config.enable_x64:
        raise usage(f"{text!r} needs a 64-bit dtype, which is not enabled", "add --x64, or set STAGEC_ENABLE_X64=1")
    return found


def parse_static(text: str) -> tuple[str, Any]:
    """A static argument, `name=value`.

    >>> parse_static("axes=(0, 1)")
    ('axes', (0, 1))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise usage(f"--static {text!r} is not name=value")
    try:
        return name, ast.literal_eval(value.strip())
    except (ValueError, TypeError, SyntaxError):
        fix = f"""write a string as --static "{name}='{value}'\""""
        raise usage(f"--static {name}: {value!r} is not a Python literal", fix) from None


def load_function(place: str) -> Callable[..., Any]:
    """The function at `module:name` or `path/to/file.py:name`; modules are looked for in this directory too."""
    where, _, name = place.rpartition(":")
    if not where or not name:
        raise usage(f"{place!r} is not module:function", "name a module (train:loss) or a file (src/train.py:loss)")
    found: Any = _module(where)
    for part in name.split("."):
        if not hasattr(found, part):
            callables = [n for n, v in vars(found).items() if callable(v) and not n.startswith("_")]
            fix = f"it has {', '.join(sorted(callables)[:20])}" if callables else ""
            raise usage(f"{where} has no function {name!r}", fix)
        found = getattr(found, part)
    if not callable(found):
        raise usage(f"{place} is not a function but a {type(found).__name__}")
    return found


def _module(where: str) -> Any:
    if where.endswith(".py") or os.sep in where:
        if not os.path.isfile(where):
            raise usage(f"there is no file {where!r}")
        return _file_module(os.path.abspath(where))
    _add_import_path(os.getcwd())
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name is None or not (where == error.name or where.startswith(error.name + ".")):
            raise
        raise failure(f"there is no module {where!r}", "run from its directory, or name its file") from None


def _file_module(path: str) -> Any:
    stem = name = os.path.splitext(os.path.basename(path))[0]
    count = 0
    while name in sys.modules:  # a file may be called `random.py`
        count += 1
        name = f"{stem}_{count}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise usage(f"{path!r} is not a Python file", "name a file that ends in .py")
    _add_import_path(os.path.dirname(path))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _add_import_path(directory: str) -> None:
    # Not undone: the function may import more when it is traced.
    if directory not in sys.path:
        sys.path.insert(0, directory)


def place_arguments(
    function: Callable[..., Any], values: Sequence[Any], static: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments: the values in order, with the static ones at the places of their names.

    >>> place_arguments(lambda x, n, y: None, ["x's", "y's"], {"n": 3})
    (["x's", 3, "y's"], {})
    """
    rest, by_name = list(values), dict(static)
    args: list[Any] = []
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return rest, by_name
    for p in parameters:
        if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) or not rest:
            break
        args.append(by_name.pop(p.name) if p.name in by_name else rest.pop(0))
    return args + rest, by_name
