"""`debug_nans`: checks the results of compiled programs, and explains where NaN or infinity comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.api.program import RunnableGraph
from stagec.core import errors, location
from stagec.core.aval import ShapedArray
from stagec.core.graph import Literal
from stagec.runtime.array import Array
from stagec.runtime.nonfinite import Kind, Search, described, host, kinds, turn_off
from stagec.runtime.runnable import Instead


def run_checked(
    runnable: RunnableGraph, args: Sequence[Any], committed: bool = False, instead: Instead | None = None
) -> list[Array]:
    """`runnable.run(args, committed, instead)`, whose results hold no NaN.

    Raises:
      NonFiniteError: a result does; the operation that made it is named.
    """
    everything = [*runnable.captured, *args]
    # Donated arguments are deleted by the call, but the explanation needs their values.
    kept = {i: _literal(everything[i], copy=True) for i in runnable.donated if type(everything[i]) is Array}
    results = runnable.run(args, committed, instead)
    for kind in kinds():
        if not any(map(kind.may_be_in, results)):
            continue
        values = [kept.get(i) or _literal(value) for i, value in enumerate(everything)]
        error = _explained(runnable, kind, values, results)
        if error is not None:
            raise error
    return results


def _literal(value: Any, copy: bool = False) -> Literal:
    array = host(value)
    aval = (
        value.aval if type(value) is Array or isinstance(value, Literal) else ShapedArray.of(array.shape, array.dtype)
    )
    return Literal(np.array(array) if copy else array, aval)


def _explained(
    runnable: RunnableGraph, kind: Kind, values: Sequence[Literal], results: Sequence[Array]
) -> errors.NonFiniteError | None:
    """The error for results that hold values of a kind, or what may follow from these; None if it does not."""
    name, called_at = runnable.name, str(location.capture())
    call = ("called", name, f"at {location.capture().brief()}")
    inputs = [values[i] for i in runnable.used]
    by_numpy, found = Search(kind, name).run(runnable.code.graph, inputs)
    if found is not None:
        return found.error([call])
    bad = [i for i, out in enumerate(results) if kind.count(out)]
    if not bad:
        return None
    names = _argument_names(runnable)
    rows = [(f"result {i}", described(results[i], results[i].aval), "") for i in bad]
    rows += [(names[i], described(v, v.aval), f"argument of {name}") for i, v in enumerate(values) if kind.count(v)]
    count = kind.phrase(sum(kind.count(results[i]) for i in bad))
    where = f"result {bad[0]}" if len(results) > 1 else "its result"
    if any(map(kind.count, by_numpy)) or all(runnable.plan[i][0] != "computed" for i in bad):
        came = "an argument" if len(rows) > len(bad) else "a constant"
        return errors.NonFiniteError(
            errors.message(
                f"{name} returned {count} in {where}, which came in with {came}",
                called_at,
                rows,
                f"look where that was made; {turn_off(kind)}",
            )
        )
    return errors.NonFiniteError(
        errors.message(
            f"{name} returned {count} in {where} as compiled, where NumPy returns none",
            called_at,
            rows,
            "fast_math, a pass of your own, or an overflow between operations can do this; "
            f"compare with stagec.disable_jit(); {turn_off(kind)}",
        )
    )


def _argument_names(runnable: RunnableGraph) -> list[str]:
    hidden = [f"closed-over array {i}" for i in range(len(runnable.captured))]
    return [*hidden, *runnable.code.argument_names]
