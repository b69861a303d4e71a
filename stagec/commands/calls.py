"""Calls of functions as the command line describes them."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import click

import stagec
from stagec.api.jit import JitFunction, jit
from stagec.backends import Target
from stagec.commands.common import failure, is_module, usage
from stagec.commands.foreign import described_module
from stagec.commands.specs import parse_argument, parse_static

F = TypeVar("F", bound=Callable[..., Any])


def trace_options(command: F) -> F:
    """The options of all commands that trace a call as texts describe it."""
    options = (
        click.option("--fast-math", is_flag=True, help="Allow rewrites that change rounding."),
        click.option("--x64", is_flag=True, help="Enable 64-bit dtypes."),
        click.option(
            "--static", "static", multiple=True, metavar="NAME=VALUE", help="A static argument; may be repeated."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def enabled_dtypes(source: str, x64: bool) -> AbstractContextManager[Any]:
    """Enable 64-bit dtypes for a block if `--x64` was given; a StableHLO module always has those that it names."""
    return stagec.config.override(**({"enable_x64": True} if x64 or is_module(source) else {}))


def described(
    source: str, arguments: Sequence[str], static: Sequence[str], target: str | None = None, fast_math: bool = False
) -> tuple[JitFunction[..., Any], list[Any], dict[str, Any]]:
    """The jitted function that a text names, and the arguments that texts describe.

    Args:
      source: `module:name` or `path/to/file.py:name`; modules are also searched for in the current directory. Or the
        path of a file with a StableHLO module, which describes its arguments itself.
      arguments: as `parse_argument` takes them.
      static: as `parse_static` takes them.
      target, fast_math: instead of what the function was jitted with.

    Raises:
      click.ClickException: there is no such function, or it does not take these arguments.
    """
    if is_module(source):
        return described_module(source, [*arguments, *static], target, fast_math)
    found = [parse_argument(text) for text in arguments]
    given = [name for name, _ in found if name] + [text.partition("=")[0] for text in static]
    for name in given:
        if given.count(name) > 1:
            raise usage(f"{name} is given twice", f"give {name} once")
    fixed = dict(parse_static(text) for text in static)
    function = _jitted(_load_function(source), tuple(fixed), target, fast_math)
    values = [value for name, value in found if not name]
    named = fixed | {name: value for name, value in found if name}
    args, kwargs = _arranged(function._function, values, named)
    _check(source, function._function, args, kwargs)
    return function, args, kwargs


def _load_function(source: str) -> Callable[..., Any]:
    """The function at `module:name` or `path/to/file.py:name`; modules are also searched for in the current
    directory.
    """
    where, _, name = source.rpartition(":")
    if not where or not name:
        raise usage(f"{source!r} is not module:function", "name a module (train:loss) or a file (src/train.py:loss)")
    found: Any = _module(where)
    for part in name.split("."):
        if not hasattr(found, part):
            callables = [n for n, v in vars(found).items() if callable(v) and not n.startswith("_")]
            fix = f"use one of {', '.join(sorted(callables)[:20])}" if callables else ""
            raise usage(f"{where} has no function {name!r}", fix)
        found = getattr(found, part)
    if not callable(found):
        raise usage(f"{source} is not a function: it is of type {type(found).__name__}")
    return found


def _module(where: str) -> Any:
    if where.endswith(".py") or os.sep in where:
        if not os.path.isfile(where):
            raise usage(f"there is no file {where!r}")
        return _file_module(os.path.abspath(where))
    add_import_path(os.getcwd())
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
    add_import_path(os.path.dirname(path))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def add_import_path(directory: str) -> None:
    # Not undone: the function may import more when it is traced.
    if directory not in sys.path:
        sys.path.insert(0, directory)


def _arranged(
    function: Callable[..., Any], values: Sequence[Any], named: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments: the values in order, with the named ones at the positions of their names.

    >>> _arranged(lambda x, n, y: None, ["x's", "y's"], {"n": 3})
    (["x's", 3, "y's"], {})
    """
    remaining, by_name = list(values), dict(named)
    args: list[Any] = []
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return remaining, by_name
    for p in parameters:
        if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) or not remaining:
            break
        args.append(by_name.pop(p.name) if p.name in by_name else remaining.pop(0))
    return args + remaining, by_name


def _jitted(found: Any, static: tuple[str, ...], target: str | None, fast_math: bool) -> JitFunction[..., Any]:
    if not isinstance(found, JitFunction):
        return jit(found, static_argnames=static or None, target=target, fast_math=fast_math or None)
    unknown = [name for name in static if name not in found._settings.rules.static_names]
    if unknown:
        known = ", ".join(sorted(found._settings.rules.static_names)) or "none"
        raise usage(f"--static {unknown[0]}: the function was jitted with static arguments {known}")
    settings = dataclasses.replace(found._settings, fast_math=fast_math or found._settings.fast_math)
    if target:
        settings = dataclasses.replace(settings, target=Target.parse(target), device=None)
    return JitFunction(found._function, settings)


def _check(source: str, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise usage(f"{source}{signature}: {error}", 'describe each argument, such as "f32[2,3]"') from None
