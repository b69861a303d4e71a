"""Printing, logging and debugging in running programs."""

from __future__ import annotations

import builtins
import logging
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stagec.control.callback import debug_callback
from stagec.core import errors, location
from stagec.core.array import Array
from stagec.core.boundary import publish as _publish
from stagec.core.operators import ArrayOperators
from stagec.runtime.array import Array as _Value
from stagec.runtime.sharding import Sharding

__all__ = [
    "breakpoint", "callback", "inspect_array_sharding", "log", "print", "visualize_array_sharding",
    "visualize_sharding",
]  # fmt: skip

_logger = logging.getLogger("stagec.debug")


def print(
    fmt: str,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> None:
    """Print values, formatted with `str.format`, when the program gets there.

    Inside compiled programs too, in loops and branches as often as they run.

    Args:
      fmt: a format string, such as `"x = {x}"`; not an f-string, which would
        be formatted while tracing.
      args, kwargs: the values that it names: arrays, or any objects that are known while tracing.
      ordered: accepted; lines always come in the order of the program.
      partitioned: accepted for JAX's sake; an array that is split among devices is printed as a whole.
      skip_format_check: do not compare `fmt` with the arguments while tracing.

    Raises:
      FormatError: `fmt` names an argument that is not there, or leaves one out.

    >>> import stagec, stagec.numpy as snp
    >>> @stagec.jit
    ... def f(x):
    ...     y = x * 2
    ...     stagec.debug.print("x = {x}, y = {}", y, x=x)
    ...     return y
    >>> y = f(snp.arange(3))
    x = [0 1 2], y = [0 2 4]
    """
    if not skip_format_check:
        _check_format("print", fmt, args, kwargs)

    def show(*args: Any, **kwargs: Any) -> None:
        builtins.print(fmt.format(*args, **kwargs))

    debug_callback(show, args, kwargs, ordered)


def log(
    fmt: str,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> None:
    """Log values at the level INFO of the logger `stagec.debug`, formatted as `print` formats them.

    Args:
      fmt, args, kwargs, ordered, partitioned, skip_format_check: as `print` takes them.

    Raises:
      FormatError: `fmt` names an argument that is not there, or leaves one out.

    >>> import stagec
    >>> stagec.jit(lambda x: stagec.debug.log("x = {}", x))(1)
    """
    if not skip_format_check:
        _check_format("log", fmt, args, kwargs)

    def show(*args: Any, **kwargs: Any) -> None:
        if _logger.isEnabledFor(logging.INFO):
            _logger.info("%s", fmt.format(*args, **kwargs))

    debug_callback(show, args, kwargs, ordered)


def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: None = None,
) -> None:
    """Stop in Python's debugger when the program gets there, with the caller's variables.

    The debugger shows the line of the call. Traced variables have the values of this run, others those that they had
    while tracing. `c` continues, `q` ends the call with `bdb.BdbQuit`. Assignments in the debugger do not change the
    program.

    Args:
      ordered: accepted; stops always come in the order of the program.
      backend, filter_frames, num_frames, token: accepted; the debugger is Python's, and shows one frame.
    """
    frame = location.user_frame()
    assert frame is not None, "somebody called it"
    filename, line, known = frame.f_code.co_filename, frame.f_lineno, frame.f_globals

    def stop(values: dict[str, Any]) -> None:
        from stagec.runtime import debugger  # loads Python's, which most programs never need

        debugger.stop(filename, line, {**known, **values})

    debug_callback(stop, (dict(frame.f_locals),), {}, ordered)


def callback(
    callback: Callable[..., Any], *args: Any, ordered: bool = False, partitioned: bool = False, **kwargs: Any
) -> None:
    """Call a Python function for its side effects when the program gets there; its result is ignored.

    Args:
      callback: takes `args` and `kwargs`; arrays have values when it is called.
      args, kwargs: pytrees of arrays, or of anything else that is known while tracing.
      ordered, partitioned: as in `print`.

    An exception of the function is raised where the program was called.

    >>> import stagec
    >>> seen = []
    >>> @stagec.jit
    ... def f(x):
    ...     stagec.debug.callback(seen.append, x + 1)
    ...     return x
    >>> f(1), f(2)
    (Array(1, dtype=int32, weak_type=True), Array(2, dtype=int32, weak_type=True))
    >>> seen
    [Array(2, dtype=int32, weak_type=True), Array(3, dtype=int32, weak_type=True)]
    """
    debug_callback(callback, args, kwargs, ordered)


class _Names(string.Formatter):
    """Reads a format string for the arguments that it names, and tries their formats on zeros."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        first = re.match(r"[^.\[]*", field_name)
        assert first is not None, "the pattern matches anything"
        name = int(first[0]) if first[0].isdecimal() else first[0]
        value = self.get_value(name, args, kwargs)
        # What comes after the name, as in `{x.shape}` and `{x[0]}`, needs the value.
        return (value if first[0] == field_name else _UNKNOWN), name

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return super().convert_field("" if conversion else value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is _UNKNOWN:
            return ""
        if not isinstance(value, ArrayOperators):
            return format(value, format_spec)
        if format_spec and value.ndim:
            raise _Axes(value, format_spec)
        return format(np.zeros((), value.dtype)[()], format_spec)

    def check_unused_args(self, used_args: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        unused = [i for i in range(len(args)) if i not in used_args]
        unused += [name for name in kwargs if name not in used_args]  # type: ignore[misc]
        if unused:
            raise _Unused(unused)


class _Unused(Exception):
    """The arguments that a format string does not name."""


class _Axes(Exception):
    """An array with axes, and a format, which only numbers take."""


_UNKNOWN = object()


def _check_format(name: str, fmt: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    try:
        _Names().vformat(fmt, args, kwargs)
        return
    except _Unused as error:
        names = ", ".join(f"argument {n}" if isinstance(n, int) else str(n) for n in error.args[0])
        what, fix = f"does not use {names}", "name every argument in the format string: {} or {x}"
        if "Tracer<" in fmt or "{" not in fmt:
            fix = 'pass a format string, "x = {x}", and not an f-string, which is formatted while tracing'
    except _Axes as error:
        value, spec = error.args
        what = f"has the format {spec!r} for {value.aval.long()}, which only arrays without axes take"
        fix = "write {} without a format, or format each element: {:.2f} {:.2f}"
    except LookupError as error:
        what = f"names more positional arguments than the {len(args)} given"
        if isinstance(error, KeyError):
            what = f"names {error.args[0]}, which is not given"
        fix = f'pass what it names: stagec.debug.{name}("x = {{x}}", x=x)'
    except (ValueError, TypeError) as error:
        what, fix = f"is not one: {error}", "write {x} for an argument, and {{ }} for braces that are to be printed"
    raise location.error(errors.FormatError, f"debug.{name}: the format string {what}", [("fmt", repr(fmt), "")], fix)


def inspect_array_sharding(value: Array, *, callback: Callable[[Any], None]) -> None:
    """Call a function with the sharding of an array.

    Args:
      callback: of the sharding; called at once. Inside of a traced function, whose arrays are split as its arguments
        will be, it gets None.

    >>> import stagec, stagec.numpy as snp
    >>> stagec.debug.inspect_array_sharding(snp.ones(2), callback=lambda s: builtins.print(s))
    SingleDeviceSharding(device=CpuDevice(id=0))
    """
    callback(getattr(value, "sharding", None) if type(value) is _Value else None)


def visualize_array_sharding(arr: Array, **kwargs: Any) -> None:
    """Print which device has which part of an array of one or two dimensions; see `visualize_sharding`.

    >>> import stagec, stagec.numpy as snp
    >>> stagec.debug.visualize_array_sharding(snp.ones(2))
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    if type(arr) is not _Value:
        raise location.error(
            errors.ArgumentTypeError,
            f"visualize_array_sharding: {errors.brief(arr)} is no array with a value",
            fix="call it outside of traced functions",
        )
    visualize_sharding(arr.shape, arr.sharding, **kwargs)


def visualize_sharding(shape: Sequence[int], sharding: Sharding, **kwargs: Any) -> None:
    """Print which device has which part of an array of a shape with one or two dimensions.

    Args:
      kwargs: how JAX draws it; accepted, and without effect.

    Raises:
      ShapeError: the shape has no or more than two dimensions.

    >>> import stagec
    >>> mesh = stagec.make_mesh((1,), ("x",))
    >>> stagec.debug.visualize_sharding((2, 2), stagec.NamedSharding(mesh, stagec.P("x")))
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    if not 1 <= len(shape) <= 2:
        raise location.error(
            errors.ShapeError,
            f"visualize_sharding: shape {tuple(shape)} has {len(shape)} dimensions",
            fix="draw arrays of one or two dimensions",
        )
    owners: dict[Any, list[str]] = {}
    for device, index in sharding.devices_indices_map(tuple(shape)).items():
        starts = tuple([s.indices(n)[0] for s, n in zip(index, shape)])
        owners.setdefault((0, *starts)[-2:], []).append(str(device.id))
    name = next(iter(sharding.device_set)).platform.upper()
    rows = sorted({r for r, _ in owners})
    columns = sorted({c for _, c in owners})
    cells = [[f"{name} {','.join(owners[r, c])}" for c in columns] for r in rows]
    width = max(len(cell) for row in cells for cell in row) + 2

    def line(left: str, middle: str, right: str) -> str:
        return left + middle.join(["─" * width] * len(columns)) + right

    drawn = ["│" + "│".join(cell.center(width) for cell in row) + "│" for row in cells]
    builtins.print(line("┌", "┬", "┐"))
    builtins.print(("\n" + line("├", "┼", "┤") + "\n").join(drawn))
    builtins.print(line("└", "┴", "┘"))


_publish(globals())
