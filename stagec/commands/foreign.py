"""StableHLO modules on the command line: files that are neither Python nor artifacts."""

from __future__ import annotations

import os
from typing import Any

import click

import stagec
from stagec.api.jit import JitFunction, jit
from stagec.commands.common import usage
from stagec.commands.specs import parse_argument
from stagec.foreign.function import Imported


def imported(path: str) -> Imported:
    """The function in a file."""
    try:
        return stagec.from_stablehlo(os.path.abspath(path))
    except stagec.StagecError as error:
        raise click.ClickException(str(error)) from None


def described_module(
    path: str, arguments: Any, target: str | None = None, fast_math: bool = False
) -> tuple[JitFunction[..., Any], list[Any], dict[str, Any]]:
    """The jitted function in a file, and the arguments that its module names, or the texts if it leaves sizes open.

    Raises:
      click.UsageError: arguments were described, which the module does itself.
    """
    function = imported(path)
    if arguments and not function.is_open:
        raise usage(f"{path} says itself which arrays it takes", "leave the arguments out")
    if arguments:
        if len(arguments) != len(function.in_types):
            raise usage(f"{path} takes {' and '.join(function.in_types)}", "describe each of them, as in 'f32[8,3]'")
        args, kwargs = function.arranged([parse_argument(text)[1] for text in arguments])
    else:
        args, kwargs = function.arguments()
    jitted: JitFunction[..., Any] = jit(function, target=target, fast_math=fast_math)
    return jitted, list(args), kwargs
