"""`sparsify`: functions of dense arrays, applied to sparse ones; and gradients with respect to sparse arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stagec.api import gradients
from stagec.api.flat import positions
from stagec.core import pytree
from stagec.core.aval import ShapedArray
from stagec.core.config import state
from stagec.core.graph import Literal, replay
from stagec.core.operators import ArrayOperators
from stagec.core.primitive import Primitive
from stagec.core.trace import Trace, Tracer, current, under
from stagec.core.wrapping import wraps
from stagec.experimental.sparse import arithmetic, arrangement, layout
from stagec.experimental.sparse.bcoo import BCOO, JAXSparse
from stagec.experimental.sparse.common import unsupported
from stagec.primitives.convert import as_array
from stagec.primitives.operand import as_operand

__all__ = ["grad", "sparsify", "todense", "value_and_grad"]


class SparseTracer(Tracer):
    """Stands for a sparse array in a function of dense ones."""

    __slots__ = ("value",)

    def __init__(self, trace: SparseTrace, value: BCOO) -> None:
        super().__init__(trace, ShapedArray.of(value.shape, value.dtype))
        self.value = value


class SparseTrace(Trace):
    """Applies the rules for sparse arrays under the parent."""

    def __init__(self) -> None:
        self.parent = state.trace

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        values = [a.value if type(a) is SparseTracer and a._trace is self else a for a in args]
        if not any(isinstance(v, BCOO) for v in values):
            with current(self.parent):
                return primitive(*values, **params)
        if primitive.name in _INLINED:
            return replay(params["graph"], args)
        rule = RULES.get(primitive.name)
        if rule is None:
            raise unsupported(
                f"{primitive} of a sparse array is not written, or would be dense",
                "call sparse.todense(x), and compute with the dense array",
            )
        with current(self.parent):
            found = rule(primitive, *[as_array(v) if isinstance(v, Literal) else v for v in values], **params)
        return SparseTracer(self, found) if isinstance(found, BCOO) else found


_INLINED = ("jit", "custom_jvp_call", "checkpoint")


def _linear(primitive: Primitive, x: BCOO, **params: Any) -> BCOO:
    return x._with(primitive(x.data, **params))


def _elementwise(primitive: Primitive, x: BCOO, **params: Any) -> BCOO:
    """A function that maps zero to zero, of the elements."""
    unique = x if x.unique_indices else layout.bcoo_sum_duplicates(x, x.nse)
    return unique._with(primitive(unique.data, **params))


def _power(primitive: Primitive, x: BCOO, y: int) -> BCOO:
    if y <= 0:
        raise unsupported(f"a sparse array to the power of {y} would be dense", "compute with sparse.todense(x)")
    return _elementwise(primitive, x, y=y)


def _add(primitive: Primitive, x: Any, y: Any) -> Any:
    return x + y


def _subtract(primitive: Primitive, x: Any, y: Any) -> Any:
    return x - y if isinstance(x, BCOO) else -y + x


def _multiply(primitive: Primitive, x: Any, y: Any) -> Any:
    return x * y if isinstance(x, BCOO) else y * x


def _divide(primitive: Primitive, x: Any, y: Any) -> Any:
    if not isinstance(x, BCOO):
        raise unsupported("a quotient by a sparse array would be dense", "divide by sparse.todense(x)")
    return x / y


def _concatenate(primitive: Primitive, *operands: Any, dimension: int) -> Any:
    if not all(isinstance(x, BCOO) for x in operands):
        raise unsupported("sparse and dense arrays are joined", "make them all sparse, or all dense")
    return arrangement.bcoo_concatenate(operands, dimension=dimension)


def _by(function: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a function whose keywords are the primitive's parameters."""
    return lambda primitive, *operands, **params: function(*operands, **params)


RULES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("conj", "convert_element_type", "imag", "neg", "real", "stop_gradient"), _linear),
    **dict.fromkeys(
        (
            "abs asin asinh atan atanh bessel_i1e cbrt ceil expm1 floor log1p round sign sin sinh sqrt square tan tanh"
        ).split(),
        _elementwise,
    ),
    "add": _add,
    "broadcast_in_dim": _by(arrangement.bcoo_broadcast_in_dim),
    "concatenate": _concatenate,
    "div": _divide,
    "dot_general": _by(arithmetic.bcoo_dot_general),
    "integer_pow": _power,
    "mul": _multiply,
    "reduce_sum": _by(arithmetic.bcoo_reduce_sum),
    "reshape": _by(arrangement.bcoo_reshape),
    "rev": _by(arrangement.bcoo_rev),
    "slice": _by(arrangement.bcoo_slice),
    "squeeze": _by(arrangement.bcoo_squeeze),
    "sub": _subtract,
    "transpose": _by(arrangement.bcoo_transpose),
}


def is_sparse(x: Any) -> bool:
    """Whether a part of a pytree is a sparse array."""
    return isinstance(x, JAXSparse)


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """A function of dense arrays as one that takes sparse ones, too, and returns sparse ones where it can.

    Args:
      f: a function of the functions of `stagec.numpy` and `stagec.lax` that have a rule for sparse arrays: products,
        sums, elementwise functions that map 0 to 0, and those that rearrange.
      use_tracer: accepted for code written for JAX.

    >>> import stagec.numpy as snp
    >>> from stagec.experimental import sparse
    >>> m = sparse.BCOO.fromdense(snp.eye(3))
    >>> sparse.sparsify(lambda m, x: (snp.sin(m) + m) @ x)(m, snp.zeros(3))
    Array([0., 0., 0.], dtype=float32)
    """

    @wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        trace = SparseTrace()

        def given(leaf: Any) -> Any:
            return SparseTracer(trace, leaf._of_bcoo()) if is_sparse(leaf) else leaf

        def result(leaf: Any) -> Any:
            return leaf.value if type(leaf) is SparseTracer and leaf._trace is trace else leaf

        sparse_args, sparse_kwargs = pytree.map_leaves(given, (args, kwargs), is_leaf=is_sparse)
        try:
            found = under(trace, lambda: f(*sparse_args, **sparse_kwargs))
        finally:
            trace.ended = True
        return pytree.map_leaves(result, found)

    return call


def todense(arr: Any) -> Any:
    """A sparse array as a dense one; others are returned as they are."""
    if is_sparse(arr):
        return arr.todense()
    if type(arr) is SparseTracer:
        with current(arr._trace.parent):
            return arr.value.todense()
    return arr if isinstance(arr, ArrayOperators) else as_array(as_operand(arr))


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """As `stagec.value_and_grad`, for functions of sparse arrays: their gradients have the same indices."""

    @wraps(fun, "value_and_grad")
    def call(*args: Any, **named: Any) -> Any:
        chosen = positions(argnums, len(args), "sparse.value_and_grad")
        data = [pytree.map_leaves(lambda x: x.data if is_sparse(x) else x, args[n], is_leaf=is_sparse) for n in chosen]

        def with_data(n: int, values: Any) -> Any:
            """An argument with other data."""
            put = lambda x, v: x._with(v) if is_sparse(x) else v  # noqa: E731
            return pytree.map_leaves(put, args[n], values, is_leaf=is_sparse)

        def of_data(data: Any, *args: Any, **named: Any) -> Any:
            full = list(args)
            for n, values in zip(chosen, data):
                full[n] = with_data(n, values)
            return fun(*full, **named)

        value, slopes = gradients.value_and_grad(of_data, has_aux=has_aux, **kwargs)(data, *args, **named)
        found = tuple(map(with_data, chosen, slopes))
        return value, found[0] if isinstance(argnums, int) else found

    return call


def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """As `stagec.grad`, for functions of sparse arrays: their gradients have the same indices.

    >>> import stagec.numpy as snp
    >>> from stagec.experimental import sparse
    >>> m = sparse.BCOO.fromdense(snp.diag(snp.arange(3.0)))
    >>> sparse.grad(lambda m, x: (m @ x).sum())(m, snp.arange(3.0)).data
    Array([1., 2.], dtype=float32)
    """
    both = value_and_grad(fun, argnums, has_aux, **kwargs)

    @wraps(fun, "grad")
    def call(*args: Any, **named: Any) -> Any:
        value, slope = both(*args, **named)
        return (slope, value[1]) if has_aux else slope

    return call
