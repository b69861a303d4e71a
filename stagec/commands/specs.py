"""Arguments on the command line: `f32[2,3]` for an array, Python literals, and containers of both."""

from __future__ import annotations

import ast
import re
from typing import Any

from stagec.api.arguments import ShapeDtypeStruct
from stagec.commands.common import usage
from stagec.core import dtypes
from stagec.core.config import config
from stagec.core.errors import DimensionError, DtypeError

_EMPTY_BRACKETS = re.compile(r"(?<=\w)\[\s*\]")
_NAMED = re.compile(r"\s*([^\W\d]\w*)\s*=(?!=)(.*)", re.DOTALL)
_FIX = "write an array as f32[2,3] or i32[], a number as 2.0, a container as {'w': f32[3], 'b': f32[]}"


def parse_argument(text: str) -> tuple[str, Any]:
    """The name of an argument, empty if it is given by its position, and the value that its description stands for.

    >>> parse_argument("rate=0.5")
    ('rate', 0.5)
    """
    named = _NAMED.match(text)
    return (named[1], parse_spec(named[2])) if named else ("", parse_spec(text))


def parse_spec(text: str) -> Any:
    """The value that an argument's description stands for.

    Raises:
      click.UsageError: it is not a description, or its dtype is not known or not enabled.

    >>> parse_spec("f32[2,3]")
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    >>> parse_spec("{'w': i32[], 'rate': 0.5}")
    {'w': ShapeDtypeStruct(shape=(), dtype=int32), 'rate': 0.5}
    """
    try:
        # Python has no empty subscript; the empty tuple means the same.
        tree = ast.parse(_EMPTY_BRACKETS.sub("[()]", text.strip().replace(dtypes.KEY.name, "key")), mode="eval").body
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


def _extent(node: ast.expr, text: str) -> int | str:
    if isinstance(node, (ast.Name, ast.BinOp, ast.Compare)):
        return ast.unparse(node)  # an open dimension
    value = _literal(node, text)
    if type(value) is not int or value < 0:
        raise usage(f"{ast.unparse(node)!r} in {text!r} is not the size of an axis", "give sizes as integers from 0 on")
    return value


def _array(name: str, shape: tuple[int | str, ...], text: str) -> ShapeDtypeStruct:
    try:
        dtype = dtypes.from_short(name)
    except DtypeError as error:
        raise usage(f"in {text!r}: {error}") from None
    try:
        found = ShapeDtypeStruct(shape, dtype)
    except DimensionError as error:
        raise usage(f"in {text!r}: {str(error).splitlines()[0]}", _FIX) from None
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
        raise usage(
            f"--static {text!r} is not name=value", "write --static axis=1, or --static name='text' for a string"
        )
    try:
        return name, ast.literal_eval(value.strip())
    except (ValueError, TypeError, SyntaxError):
        fix = f"""write a string as --static "{name}='{value}'\""""
        raise usage(f"--static {name}: {value!r} is not a Python literal", fix) from None
