"""`custom_vmap` and `sequential_vmap`: functions whose batching rule the user writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from stagec.api.custom_rule import CustomRule, Use, no_rule, pair
from stagec.api.flat import given
from stagec.control.custom_batch import custom_vmap_p
from stagec.control.scan import map_
from stagec.core import errors, location, pytree
from stagec.core.boundary import short_tracebacks
from stagec.core.callables import P, R, R_co
from stagec.primitives.operand import aval_of

F = TypeVar("F", bound=Callable[..., Any])


class custom_vmap(CustomRule[P, R_co]):
    """A function that `vmap` does not batch operation by operation, but with a rule of its own.

    `def_vmap(rule)` takes `rule(axis_size, in_batched, *args) -> (result, out_batched)`. In `args`, the axis of the
    batch is the first one of each array for which `in_batched`, a list of pytrees like the arguments, is True; the
    other arrays are the same for all elements. `out_batched` says the same of the result, and has its structure.

    In a derivative, the function and the rule are differentiated.

    >>> import stagec, stagec.numpy as snp
    >>> @stagec.custom_batching.custom_vmap
    ... def dot(x, y):
    ...     return snp.dot(x, y)
    >>> @dot.def_vmap
    ... def rule(axis_size, in_batched, x, y):
    ...     return snp.einsum("bi,bi->b" if all(in_batched) else "bi,i->b", x, y), True
    >>> stagec.vmap(dot, in_axes=(0, None))(snp.ones((2, 3)), snp.arange(3.0))
    Array([3., 3.], dtype=float32)
    """

    rule: Callable[..., Any] | None = None

    def __init__(self, fun: Callable[P, R_co]) -> None:
        super().__init__(fun)

    @short_tracebacks
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        if self.rule is None:
            raise no_rule("custom_vmap", "def_vmap", self)
        return self._call(args, kwargs, custom_vmap_p)

    def def_vmap(self, vmap_rule: F) -> F:
        """Give the rule; returns it, so that this may be used as a decorator."""
        self.rule = vmap_rule
        return vmap_rule

    def _derive(self, used: Use) -> Callable[..., Any]:
        rule = self.rule
        assert rule is not None, "checked by the call"
        what = f"the rule of {self._name}"

        def derive(size: int, batched: Sequence[bool], values: Sequence[Any]) -> Any:
            args = used.tree.unflatten([given(v) for v in values])
            returned = rule(size, list(used.tree.unflatten(batched)), *args)
            result, kinds = pair(returned, what, rule, "(result, out_batched)", "return a pair, (result, True)")
            outs = used.results(result, rule)
            flags, tree = pytree.flatten(kinds)
            if tree != used.out_tree:
                raise location.error(
                    errors.PytreeError,
                    f"{what}, {location.of_function(rule)}, must return out_batched with the structure of the result",
                    [("result", str(used.out_tree), ""), ("out_batched", str(tree), "")],
                    "give one True or False for each array of the result",
                )
            for path, out, on in zip(pytree.leaf_paths(tree), outs, flags):
                aval = aval_of(out)
                if on and aval.shape[:1] != (size,):
                    raise location.error(
                        errors.ShapeError,
                        f"{what}, {location.of_function(rule)}, returned {aval.long()} for a batch of {size}",
                        [(f"result{pytree.keystr(path)}", aval.long(), "batched, as out_batched says")],
                        "make the axis of the batch the first one of each batched result",
                    )
            return outs, flags

        return derive


def sequential_vmap(f: Callable[P, R]) -> custom_vmap[P, R]:
    """A function that `vmap` runs for one element after the other, as `lax.map` does.

    >>> import stagec, stagec.numpy as snp
    >>> @stagec.custom_batching.sequential_vmap
    ... def f(x):
    ...     stagec.debug.print("{}", x)
    ...     return x + 1
    >>> y = stagec.vmap(f)(snp.arange(2))
    0
    1
    """
    made = custom_vmap(f)
    function: Callable[..., Any] = f

    def rule(axis_size: int, in_batched: list[Any], *args: Any) -> Any:
        leaves, tree = pytree.flatten(args)
        flags = pytree.leaves(in_batched)

        def one(mapped: list[Any]) -> Any:
            elements = iter(mapped)
            return function(*tree.unflatten([next(elements) if on else leaf for leaf, on in zip(leaves, flags)]))

        result = map_(one, [leaf for leaf, on in zip(leaves, flags) if on])
        return result, pytree.map_leaves(lambda _: True, result)

    made.def_vmap(rule)
    return made
