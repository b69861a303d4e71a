"""The form with which a page runs its function: what `to_html` writes, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stagec.api.exported import page_of_trace
from stagec.api.jit import JitFunction
from stagec.core import errors

# The arrays that a function closes over are part of its module, and a page is not to grow by more than this.
_MOST = 1 << 20


def form(function: JitFunction[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, str]:
    """A `page` that runs the function as a WebAssembly module; if it cannot be written, `why`.

    Args:
      args, kwargs: of the function; shapes and dtypes are enough.

    >>> import stagec
    >>> x = stagec.ShapeDtypeStruct((3,), "float32")
    >>> list(form(stagec.jit(lambda x: x * 2), [x], {}))
    ['page']
    >>> form(stagec.jit(lambda x: stagec.debug.print("{}", x)), [x], {})["why"].partition(":")[2].partition(",")[0]
    ' it calls Python functions'
    """
    traced = function.trace(*args, **kwargs)
    trace = traced._trace
    held = sum([aval.nbytes for aval in trace.graph.in_avals[: len(trace.captured)]])
    if held > _MOST:
        what = f"{trace.name} closes over {held / 2**20:.1f} MiB of arrays, which would be part of this page"
        return {"why": errors.message(what, fix="write a page of its own: stagec compile --emit html")}
    try:
        return {"page": page_of_trace(traced._settings, trace)}
    except errors.StagecError as error:
        return {"why": str(error)}
