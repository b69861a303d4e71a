"""`export`: a function compiled ahead of time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stagec.api.arguments import described
from stagec.api.exported import Exported, from_trace, parse_targets
from stagec.api.jit import JitFunction, jit
from stagec.backends import Target
from stagec.core import location, pytree
from stagec.runtime.devices import Device


def export(
    fun: Callable[..., Any],
    targets: str | Target | Iterable[str | Target] = (),
    *,
    weights: bool = True,
    reproducible: bool = False,
) -> Callable[..., Exported]:
    """Compile a function ahead of time, for machines that need not have a compiler.

    Args:
      fun: a function, jitted or not; static and donated arguments of a jitted
        one are honoured.
      targets: what to compile for, such as `"cpu:x86-64-v3"`, `"vulkan"` or
        `"cuda:sm_80"`. `"cpu"`, which is the default, means every CPU of this
        machine's x86-64 level; it is not tied to this CPU's model.
      weights: keep the arrays that `fun` closes over in the file. Without
        them, `stagec.load` takes them.
      reproducible: results have the same bits for all targets that are CPUs, in C libraries and in WebAssembly; NaN may
        have other bits. A file then runs on processors that it was compiled for, and on no others.

    Returns:
      A function of arrays or `ShapeDtypeStruct`s, or of texts such as `"f32[b,784]"`, that returns an `Exported`
      for their shapes and dtypes. Names in a shape are open dimensions: one program serves any size.

    Raises:
      TargetError: a target is not known.
      DtypeError: a text names no dtype, or one of 64 bits where these are not enabled.
      UnsupportedError: the program holds arrays without elements, or cannot be reproducible.

    >>> import stagec, stagec.numpy as snp
    >>> exported = stagec.export(lambda x: snp.sin(x) * 2)(stagec.ShapeDtypeStruct((3,), "float32"))
    >>> exported.call(snp.zeros(3))
    Array([0., 0., 0.], dtype=float32)
    """
    if not callable(fun):
        raise location.error(
            TypeError,
            f"export takes a function, got {type(fun).__name__}",
            fix="write stagec.export(f)(x), not stagec.export(f(x))",
        )
    jitted = fun if isinstance(fun, JitFunction) else jit(fun)
    chosen = parse_targets(targets)
    settings = jitted._settings
    if reproducible:
        settings = dataclasses.replace(settings, reproducible=True)

    def exported(*args: Any, **kwargs: Any) -> Exported:
        args, kwargs = pytree.map_leaves(described, (args, kwargs))
        trace, _ = jitted._traced(args, kwargs)
        return from_trace(settings, trace, chosen, weights)

    exported.__name__ = f"export({jitted._name})"
    return exported


def file_of_call(jitted: JitFunction[..., Any], args: Sequence[Any], device: Device) -> bytes:
    """What `stagec.load` takes, with the program that a call with these arguments runs on a device.

    Raises:
      UnsupportedError: the program calls Python or a library of this machine, or has nothing to compile.
    """
    trace, _ = jitted._traced(tuple(args), {})
    settings = jitted._settings
    runnable = settings.runnable(trace, device)
    return Exported(trace, runnable, [runnable.code.options.target], settings.rules, weights=True).serialize()
