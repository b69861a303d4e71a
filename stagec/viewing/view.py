"""`stagec.view`: the page of a function's stages, for a notebook or a file."""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stagec.api.arguments import ShapeDtypeStruct
from stagec.api.jit import JitFunction, jit
from stagec.core import errors, location, pytree
from stagec.profiling.profile import profile
from stagec.viewing.form import form
from stagec.viewing.gather import gather
from stagec.viewing.page import page


class View:
    """The page of a function; a notebook shows it.

    Attributes:
      html: the page, which loads nothing from a network.
    """

    def __init__(self, text: str) -> None:
        self.html = text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file."""
        Path(path).write_text(self.html, "utf-8")

    def __repr__(self) -> str:
        return f"<stagec.view of {len(self.html):,} characters: a notebook shows it, and save('page.html') writes it>"

    def _repr_html_(self) -> str:
        style = "width: 100%; height: 42em; border: 1px solid #8888"
        return f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts" style="{style}"></iframe>'


def view(function: Callable[..., Any], *args: Any, **kwargs: Any) -> View:
    """Show a function side by side at all stages, from Python to assembly, linked line by line.

    Args:
      function: jitted or not.
      args, kwargs: its arguments, or their shapes and dtypes. With arrays, it is called once, for the kernels' times.

    Raises:
      ArgumentValueError: the function computes nothing.
      CompileError: it does not compile.

    >>> import stagec.numpy as snp
    >>> page = view(lambda x: snp.sin(x) + 1, snp.ones(8))
    >>> "stablehlo.sine" in page.html
    True
    """
    chosen = function if isinstance(function, JitFunction) else jit(function)
    described = any(isinstance(leaf, ShapeDtypeStruct) for leaf in pytree.leaves((args, kwargs)))
    found = gather(chosen, args, kwargs, None if described else lambda: _profiled(chosen, args, kwargs))
    if found is None:
        name = getattr(function, "__name__", "the function")
        raise location.error(
            errors.ArgumentValueError,
            f"view: {name} computes nothing",
            fix="choose a function that has operations on arguments with elements",
        )
    return View(page({**found, "form": form(chosen, args, kwargs)}))


def _profiled(function: JitFunction[..., Any], args: Any, kwargs: Any) -> profile:
    with profile() as ran:
        function(*args, **kwargs)
    return ran
