"""Fixes for errors about values that are not known while tracing."""

from __future__ import annotations

import ast
import dis
import itertools
import linecache
import types
from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np

from stagec.core import dtypes, location, missing
from stagec.core.aval import ShapedArray
from stagec.core.operators import METHODS

# Functions of Python's `math` that NumPy has under another name.
_MATH = {
    "dist": "",
    "erf": "stagec.scipy.special.erf",
    "erfc": "stagec.scipy.special.erfc",
    "fsum": "stagec.numpy.sum",
    "gamma": "stagec.scipy.special.gamma",
    "lgamma": "stagec.scipy.special.gammaln",
}
# Functions of Python that ask for truth values, by the names that NumPy has for arrays.
_BUILTINS: dict[Any, str] = {max: "max", min: "min", sorted: "sort", any: "any", all: "all"}
# The fix for a value that does not depend on an argument.
CONSTANT = "compute it with Python or NumPy, as math.prod(x.shape) does"
# The fix where nothing else is known.
WITHOUT_VALUE = "decide by what is known while tracing, such as shapes and static arguments"
# The fix for an integer that a shape depends on.
SHAPE = "keep the largest size, and choose elements with stagec.numpy.where"
# Longer parts of the user's line are not repeated.
_LONGEST = 40


def conditional(dtype: np.dtype[Any]) -> str:
    """The fix for a truth value of a traced array of a dtype."""
    words = _words()
    if words[:1] == ["while"]:
        return "loop with stagec.lax.while_loop"
    if words[:1] == ["assert"]:
        return "check the result outside, or in a Python function that stagec.debug.callback calls"
    kept = "keep the choice in the program with stagec.numpy.where or stagec.lax.cond"
    return _of_python() or "; ".join(filter(None, [_operators(dtype), kept]))


def ambiguous(dtype: np.dtype[Any]) -> str:
    """The fix for the truth value of several elements of an array of a dtype."""
    return _of_python() or "; ".join(filter(None, [_operators(dtype), "use x.any() or x.all()"]))


def _of_python() -> str:
    """What takes the place of a function or an operator of Python that asks for truth values; empty for others."""
    frame = location.user_frame()
    node = None if frame is None else _expression(frame)
    if frame is not None and isinstance(node, ast.Call):
        function = _value(node.func, frame)
        name = _BUILTINS.get(function, "") if isinstance(function, types.BuiltinFunctionType) else ""
        if function in (max, min) and len(node.args) > 1:
            return f"use stagec.numpy.{name}imum(x, y)"
        return f"use stagec.numpy.{name}(stagec.numpy.array(values))" if name else ""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return "use stagec.numpy.isin(x, values)"
    return ""


def _operators(dtype: np.dtype[Any]) -> str:
    """What to write for the user's chained comparison, or for `and`, `or` and `not` between truth values."""
    frame = location.user_frame()
    node = None if frame is None else _expression(frame)
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        operands = [node.left, *node.comparators]
        parts = [ast.Compare(a, [op], [b]) for a, op, b in zip(operands, node.ops, operands[1:])]
        text = " & ".join(f"({ast.unparse(part)})" for part in parts)
        return f"write {text}" if len(text) <= 2 * _LONGEST else "write (a < b) & (b < c) for a < b < c"
    return "write & | ~ for and, or, not" if dtypes.is_bool(dtype) and {"and", "or", "not"} & set(_words()) else ""


def _words() -> list[str]:
    """The words of the user's line."""
    return location.capture().source().replace("(", " ").split()


def integer() -> str:
    """The fix for a Python integer; empty where only a static argument helps."""
    frame = location.user_frame()
    node = None if frame is None else _expression(frame)
    if frame is not None and isinstance(node, ast.Subscript):
        return _indexed(node, frame)
    if frame is None or not isinstance(node, ast.Call):
        return "index stagec.numpy.array(values)[i] instead of a list; loop with stagec.lax.fori_loop"
    function = _value(node.func, frame)
    if function is int:
        return "use x.astype(int)"
    if function is range:
        return "loop with stagec.lax.fori_loop"
    owner = _value(node.func.value, frame) if isinstance(node.func, ast.Attribute) else function
    if isinstance(node.func, ast.Attribute) and not isinstance(owner, types.ModuleType):
        return SHAPE  # a method: of an array, or of a generator of random numbers
    home = owner.__name__ if isinstance(owner, types.ModuleType) else getattr(owner, "__module__", None) or ""
    return SHAPE if home.partition(".")[0] in ("numpy", "stagec") else ""


def number(kind: str) -> str:
    """The fix for a Python float or complex number."""
    return f"call {own}" if (own := own_function(called())) else f"use x.astype({kind})"


def array(dtype: np.dtype[Any]) -> str:
    """The fix for a NumPy array of a dtype."""
    frame = location.user_frame()
    node = None if frame is None else _expression(frame)
    if frame is not None and isinstance(node, ast.Subscript):
        if dtypes.is_bool(dtype):
            return "keep the shape, with stagec.numpy.where(condition, values, 0)"
        return _indexed(node, frame, by_numpy=True)
    if frame is not None and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method, values = node.func.attr, ast.unparse(node.func.value)
        if isinstance(_value(node.func.value, frame), np.ndarray) and method in METHODS:
            return f"call stagec.numpy.asarray({values if len(values) <= _LONGEST else 'values'}).{method}"
    function = called()
    if function is np.arange:
        return SHAPE
    own = own_function(function)
    return f"call {own}" if own else "call a function of stagec.numpy, or NumPy's in stagec.pure_callback"


def _indexed(node: ast.Subscript, frame: FrameType, by_numpy: bool = False) -> str:
    """The fix for a list or a NumPy array with a traced index; empty if there is none."""
    owner = _value(node.value, frame)
    by_numpy |= isinstance(owner, np.ndarray)
    if isinstance(owner, (str, bytes, range)):
        return ""
    whole, values = ast.unparse(node), ast.unparse(node.value)
    index = whole[len(values) :]
    if len(whole) > _LONGEST:
        values, index = "values", "[i]"
    array = f"stagec.numpy.{'asarray' if by_numpy else 'array'}({values})"
    if dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("STORE"):
        return f"make a new array: {values} = {array}.at{index}.set(value)"
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(part, ast.Slice) for part in parts):
        return f"take a part of a fixed size, with stagec.lax.dynamic_slice_in_dim({array}, start, size)"
    if by_numpy:
        return f"index {array}{index}"
    if isinstance(owner, (list, tuple)) and owner and all(map(callable, owner)):
        return f"call one of the functions with stagec.lax.switch({index[1:-1]}, {values}, x)"
    return f"index {array}{index} instead of a {'tuple' if isinstance(owner, tuple) else 'list'}"


def static(arguments: Sequence[tuple[str, ShapedArray]]) -> str:
    """How to make arguments of a jitted function static, or pass what decides; empty where it cannot be done.

    Args:
      arguments: name and aval of those that a value depends on.
    """
    if not arguments:
        return "make the argument that it comes from static with static_argnames"
    if any(aval.ndim for _, aval in arguments):
        return ""
    names = [name for name, _ in arguments]
    inner = [name for name in names if not name.isidentifier()]
    if inner:
        one = "an argument of its own" if len(inner) == 1 else "arguments of their own"
        return f"pass {' and '.join(inner)} as {one}, a Python number that static_argnames names"
    listed = repr(names[0]) if len(names) == 1 else repr(tuple(names))
    text = f"make {' and '.join(names)} static with static_argnames={listed}"
    return text if all(aval.weak_type for _, aval in arguments) else f"{text}, and pass Python numbers"


def own_function(function: Any) -> str:
    """stagec's name for a function of NumPy or of Python's `math`; empty if it has none."""
    name = getattr(function, "__name__", "")
    module = (getattr(function, "__module__", None) or "numpy") if name else ""
    if module == "math":
        where = _MATH.get(name)
        if where is not None:
            return where
    elif module.partition(".")[0] != "numpy":
        return ""
    home = "stagec.numpy.linalg" if module == "numpy.linalg" else "stagec.numpy"
    return f"{home}.{name}" if name in missing.public_names(home) else ""


def called() -> Any:
    """What the user's line is calling right now, where a name leads to it; never before Python 3.11."""
    frame = location.user_frame()
    node = None if frame is None else _expression(frame)
    return _value(node.func, frame) if frame is not None and isinstance(node, ast.Call) else None


def _expression(frame: FrameType) -> ast.expr | None:
    """The part of the user's source that the frame evaluates."""
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None:
        return None
    first, last, start, end = next(itertools.islice(positions(), frame.f_lasti // 2, None), (None,) * 4)
    if first is None or last is None or start is None or end is None:
        return None
    lines = [linecache.getline(frame.f_code.co_filename, i).encode() for i in range(first, last + 1)]
    if first == last:
        text = lines[0][start:end]
    else:
        text = b"".join([lines[0][start:], *lines[1:-1], lines[-1][:end]])
    try:
        return ast.parse(b"(" + text + b")", mode="eval").body
    except SyntaxError:
        return None


def _value(node: ast.expr, frame: FrameType) -> Any:
    """What a name, an attribute of a module or a constant stands for; nothing of the user's runs."""
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
            if node.id in names:
                return names[node.id]
    elif isinstance(node, ast.Constant):
        return node.value
    elif isinstance(node, ast.Attribute):
        owner = _value(node.value, frame)
        if isinstance(owner, types.ModuleType):
            return vars(owner).get(node.attr)
    return None
