"""`stagec run`: a compiled function on arrays from files."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from typing import Any

import click
import numpy as np

import stagec
from stagec.api.load import Loaded
from stagec.commands.common import OutputFile, failure, is_module, usage
from stagec.core import dtypes, pytree
from stagec.core.aval import ShapedArray
from stagec.core.errors import StagecError, not_installed


# Negative numbers are inputs.
@click.command(
    context_settings={"ignore_unknown_options": True},
    short_help="Run a compiled file on arrays.",
    epilog="Example: stagec run model.stagec images.npy -o labels.npy",
)
@click.argument("file", type=click.Path(dir_okay=False, exists=True))
@click.argument("inputs", nargs=-1)
@click.option("-o", "--output", type=OutputFile(), help="A .npy file, or .npz for several results.")
@click.option("--function", help="Which function, where the file holds several.")
@click.option("--device", help="Where to run, such as cpu, vulkan or cuda:1.")
@click.option("--weights", multiple=True, metavar="FILE.npy", help="Weights that the file does not hold, in order.")
def run(
    file: str, inputs: tuple[str, ...], output: str | None, function: str | None, device: str | None, weights: Any
) -> None:
    """Run a function of FILE on INPUTS: .npy files and numbers, one for each array that it takes, in order.

    An input may be named, as in x=images.npy; an .npz file holds several under
    their names. `stagec inspect` shows the names. FILE may be a StableHLO module
    instead (MLIR, or what `jax.export` serializes), which is compiled first.
    """
    if is_module(file):
        _show(_run_module(file, [value for text in inputs for _, value in _inputs(text)]), output)
        return
    given = [_array(w) for w in weights] or None
    with stagec.config.override(enable_x64=True):
        loaded = stagec.load(file, device=device, weights=given)
        chosen = _function(loaded, function)
    with stagec.config.override(enable_x64=_takes_wide(chosen)):
        args, kwargs = _call(chosen, [item for text in inputs for item in _inputs(text)])
        result = chosen(*args, **kwargs)
    _show(result, output)


def _run_module(path: str, given: list[Any]) -> Any:
    """A StableHLO module on its arrays, in the order of its parameters."""
    try:
        from stagec.commands.foreign import imported  # needs the compiler, which other files do not
    except ModuleNotFoundError as missing:
        raise failure(str(not_installed("StableHLO", missing))) from None
    function = imported(path)
    count = len(function.in_types)
    if len(given) != count:
        raise usage(f"{path} takes {count} arrays, not {len(given)}", "give one .npy file or number for each array")
    with stagec.config.override(enable_x64=function.is_wide):
        args, kwargs = function.arranged(given)
        try:
            return function(*args, **kwargs)
        except StagecError as error:
            raise failure(str(error)) from None


def _show(result: Any, output: str | None) -> None:
    """Print what a function returned, or write it to a file."""
    rows = [("result" + pytree.keystr(path), np.asarray(v)) for path, v in pytree.flatten_with_path(result)[0]]
    if output is None:
        for name, value in rows:
            shown = np.array2string(value, threshold=20, separator=", ").replace("\n", "\n  ")
            click.echo(f"{name}  {ShapedArray.of(value.shape, value.dtype).long()}\n  {shown}")
        return
    _write(output, rows)
    click.echo(f"wrote {len(rows)} array{'s' if len(rows) != 1 else ''} to {output}", err=True)


def _takes_wide(loaded: Loaded) -> bool:
    """Whether a signature has 64-bit types. If none has, 64-bit arrays, NumPy's default, are converted to 32 bits as in
    a call from Python.
    """
    with stagec.config.override(enable_x64=False):
        return any(dtypes.canonicalize(a.dtype) != a.dtype for avals in loaded.in_avals for a in avals)


def _function(loaded: Loaded, name: str | None) -> Loaded:
    if name is None:
        if len(loaded.functions) > 1:
            raise usage(
                f"{loaded.path} holds several functions", f"add --function {' or --function '.join(loaded.functions)}"
            )
        return loaded
    if name not in loaded.functions:
        raise usage(f"{loaded.path} has no function {name!r}", f"use one of {', '.join(loaded.functions)}")
    return loaded[name]


def _inputs(text: str) -> list[tuple[str, Any]]:
    """An input as (name, value) pairs; the name is empty where none is given."""
    name, equals, value_text = text.partition("=")
    if equals and not os.path.exists(text):
        return [(name, value) for _, value in _inputs(value_text)]
    if text.endswith(".npz"):
        with np.load(_existing(text), allow_pickle=False) as arrays:
            return list(arrays.items())
    if text.endswith(".npy"):
        return [("", _array(text))]
    try:
        # The latter reads nan and inf.
        value = ast.literal_eval(text) if text.strip("+-")[:1].isdigit() or text[:1] in "TF.(" else float(text)
    except (ValueError, SyntaxError, TypeError):
        value = None
    if not isinstance(value, (bool, int, float, complex)):
        raise usage(
            f"{text!r} is neither a .npy or .npz file nor a number", "write name=x.npy, x.npz, or a number such as 2.0"
        )
    return [("", value)]


def _existing(path: str) -> str:
    if not os.path.exists(path):
        raise usage(f"there is no file {path!r}")
    return path


def _array(path: str) -> np.ndarray[Any, Any]:
    try:
        found = np.load(_existing(path), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise usage(f"{path} is not a .npy file: {str(error).splitlines()[0]}") from None
    # NumPy writes bfloat16 as two bytes without a meaning.
    return found.view(dtypes.bfloat16) if found.dtype == np.dtype("V2") else found


def _call(loaded: Loaded, given: Sequence[tuple[str, Any]]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of the call that the inputs describe, for the signature whose leaves they are, if there is one."""
    problems: list[Exception] = []
    calls: list[tuple[list[Any], dict[str, Any]]] = []
    for program in loaded._stored_programs():
        form = loaded._form(program)
        try:
            calls.append(form.of_leaves(given))
        except StagecError as problem:
            problems.append(problem)
            continue
        if form.takes(*calls[-1]):
            return calls[-1]
    if not calls:
        raise failure(str(problems[0]))
    # The call raises the error.
    return calls[0]


def _write(path: str, rows: list[tuple[str, np.ndarray[Any, Any]]]) -> None:
    if path.endswith(".npz"):
        arrays: Any = dict(rows)
        np.savez(path, **arrays)
        return
    if len(rows) != 1 or not path.endswith(".npy"):
        names = ", ".join(name for name, _ in rows) or "none"
        raise usage(f"-o {path} does not suit {len(rows)} arrays ({names})", "write one to .npy, or any number to .npz")
    np.save(path, rows[0][1])
