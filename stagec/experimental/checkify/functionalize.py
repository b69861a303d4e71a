"""Programs with their checks: the first failure is one of the results.

The recorded program runs step by step, and carries a code along, which says which check failed first, and the numbers
that its message needs. Loops carry both from step to step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import stagec.numpy as snp
from stagec.api.jit import JitFunction, jit
from stagec.control.custom import Rule
from stagec.core import errors, location
from stagec.core.aval import ShapedArray
from stagec.core.dtypes import is_inexact
from stagec.core.graph import Equation, Graph, Literal, all_equations, replay, with_graphs
from stagec.core.recording import trace_closed
from stagec.core.wrapping import wraps
from stagec.experimental.checkify.failures import (
    Check,
    DivisionByZeroError,
    Error,
    ErrorCategory,
    NaNError,
    OOBError,
    check_p,
    here,
    user_checks,
)
from stagec.primitives.barrier import stop_gradient_p
from stagec.primitives.broadcast import zeros
from stagec.primitives.convert import as_array
from stagec.primitives.gather_parts import GatherDimensionNumbers
from stagec.primitives.operand import as_operand, aval_of
from stagec.primitives.scatter_parts import window_sizes


class State:
    """What failed so far in a program that runs."""

    def __init__(self) -> None:
        self.code: Any = np.int32(0)
        self.payload: list[Any] = []
        self.checks: list[Check] = []

    def add(self, checks: Sequence[Check], code: Any, payload: Sequence[Any]) -> None:
        """Take in later checks, of which the one that `code` counts failed."""
        if not checks:
            return
        offset = np.int32(len(self.checks))
        later = snp.where(code != 0, code + offset, np.int32(0))
        self.code = snp.where(self.code != 0, self.code, later) if self.checks else later
        self.payload += payload
        self.checks += checks

    def fail(self, kind: ErrorCategory, failed: Any, *payload: Any, details: tuple[Any, ...] = ()) -> None:
        self.add([Check(kind, details, len(payload), here())], snp.where(failed, np.int32(1), np.int32(0)), payload)


Enabled = frozenset[ErrorCategory]


def _run(graph: Graph, args: Sequence[Any], enabled: Enabled) -> tuple[list[Any], State]:
    """As `replay`, and what failed."""
    state = State()

    def run(e: Equation, operands: Sequence[Any]) -> Sequence[Any]:
        found: Sequence[Any] = _RULES.get(e.primitive.name, _plain)(state, e, list(map(_value, operands)), enabled)
        return found

    return list(map(_value, replay(graph, args, run))), state


def _value(operand: Any) -> Any:
    return as_array(operand) if type(operand) is Literal else operand


def _checked(graph: Graph, enabled: Enabled) -> tuple[Graph, tuple[Check, ...]]:
    """The graph with a code and a payload as its last results, and their checks."""

    def flat(*args: Any) -> list[Any]:
        outs, state = _run(graph, args, enabled)
        known.extend(state.checks)
        return [*outs, state.code, *state.payload]

    if ("checkify", enabled) not in graph.derived:
        known: list[Check] = []
        made = trace_closed(flat, graph.in_avals)
        graph.derived["checkify", enabled] = made, tuple(known)
    return graph.derived["checkify", enabled]  # type: ignore[no-any-return]


def _without_checks(graph: Graph) -> Graph:
    if not any(e.primitive is check_p for e in all_equations(graph)):
        return graph
    kept = [
        Equation(e.primitive, e.inputs, e.outputs, with_graphs(e.params, _without_checks), e.location)
        for e in graph.equations
        if e.primitive is not check_p
    ]
    return Graph(graph.inputs, kept, graph.outputs)


def _plain(state: State, e: Equation, args: list[Any], enabled: Enabled, nans: bool = False) -> list[Any]:
    found = e.primitive(*args, **e.params)
    outs = list(found) if e.primitive.multiple else [found]
    inexact = [x for x in outs if is_inexact(aval_of(x).dtype)]
    if nans and NaNError in enabled and inexact:
        failed = snp.isnan(inexact[0]).any()
        for x in inexact[1:]:
            failed = failed | snp.isnan(x).any()
        state.fail(NaNError, failed, details=(e.primitive.name,))
    return outs


def _computed(state: State, e: Equation, args: list[Any], enabled: Enabled) -> list[Any]:
    return _plain(state, e, args, enabled, nans=True)


def _divided(state: State, e: Equation, args: list[Any], enabled: Enabled) -> list[Any]:
    if DivisionByZeroError in enabled:
        state.fail(DivisionByZeroError, (args[1] == 0).any())
    return _computed(state, e, args, enabled)


def _check_indices(state: State, shape: Sequence[int], indices: Any, axes: Sequence[int], sizes: Sequence[int]) -> None:
    """Check that windows of `sizes` at `indices`, whose components are for `axes`, are in an array."""
    if not indices.size:
        return
    largest = np.iinfo(indices.dtype).max
    last = np.array([min(shape[a] - sizes[a], largest) for a in axes], indices.dtype)
    bad = (indices < 0) | (indices > snp.broadcast_to(last, indices.shape))
    place = snp.argmax(bad.ravel())
    component = place % len(axes)
    facts = snp.stack([snp.asarray(v, np.int32)[component] for v in (axes, [shape[a] for a in axes])])
    payload = snp.concatenate([indices.ravel()[place].astype(np.int32)[None], facts])
    state.fail(OOBError, bad.any(), payload, details=(tuple(shape),))


def _indexed(state: State, e: Equation, args: list[Any], enabled: Enabled) -> list[Any]:
    shape, name = args[0].shape, e.primitive.name
    if OOBError in enabled:
        axes: Sequence[int] = range(len(shape))
        if name in ("dynamic_slice", "dynamic_update_slice"):
            sizes = e.params["slice_sizes"] if name == "dynamic_slice" else args[1].shape
            starts = args[1 if name == "dynamic_slice" else 2 :]
            indices = snp.stack(starts) if starts else snp.zeros(0, np.int32)
        else:
            d = e.params["dimension_numbers"]
            indices = args[1]
            if isinstance(d, GatherDimensionNumbers):
                axes, sizes = d.start_index_map, e.params["slice_sizes"]
            else:
                axes, sizes = d.scatter_dims_to_operand_dims, window_sizes(d, len(shape), args[2].shape)
        _check_indices(state, shape, indices, axes, sizes)
    return _plain(state, e, args, enabled, nans=name.startswith("scatter"))


def _user(state: State, e: Equation, args: list[Any], enabled: Enabled) -> list[Any]:
    checks = e.params["checks"]
    code, *payload = args
    if any(c.kind in enabled for c in checks) and code.size:
        if code.ndim:
            place = snp.argmax((code != 0).ravel())
            payload = [p.reshape(-1, *p.shape[code.ndim :])[place] for p in payload]
            code = code.ravel()[place]
        state.add(checks, code, payload)
    return []


def _called(state: State, e: Equation, args: list[Any], enabled: Enabled) -> list[Any]:
    graph, checks = _checked(e.params["graph"], enabled)
    if not checks:
        return _plain(state, e, args, enabled)
    outs = e.primitive(*args, **{**e.params, "graph": graph})
    count = len(e.outputs)
    state.add(checks, outs[count], outs[count + 1 :])
    return list(outs[:count])


def _custom(state: State, e: Equation, args: list[Any], enabled: Enabled) -> list[Any]:
    """The result keeps its derivative rule; what fails is found by the function itself."""
    graph, checks = _checked(e.params["graph"], enabled)
    if checks:
        outs = replay(graph, [stop_gradient_p(a) for a in args])[len(e.outputs) :]
        state.add(checks, outs[0], outs[1:])
    params = with_graphs(e.params, _without_checks)
    if params is not e.params:
        params["rule"] = Rule(e.params["rule"].name, e.params["rule"].function, _refuse_derivative)
    return list(e.primitive(*args, **params))


def _refuse_derivative(*args: Any) -> Any:
    raise location.error(
        errors.UnsupportedError,
        "checkify: a function with a derivative rule of its own and with checks is differentiated afterwards",
        fix="differentiate first: checkify.checkify(stagec.grad(f))",
    )


def _filled(avals: Iterable[ShapedArray]) -> list[Any]:
    return [zeros(a) for a in avals]


def _payload_avals(graph: Graph, outputs: int) -> list[ShapedArray]:
    return graph.out_avals[outputs + 1 :]


def _branched(state: State, e: Equation, args: list[Any], enabled: Enabled) -> list[Any]:
    count = len(e.outputs)
    made = [_checked(g, enabled) for g in e.params["branches"]]
    checks = [c for _, known in made for c in known]
    if not checks:
        return _plain(state, e, args, enabled)
    avals = [_payload_avals(g, count) for g, _ in made]

    def branch(number: int) -> Graph:
        graph, known = made[number]
        offset = np.int32(sum(len(k) for _, k in made[:number]))

        def flat(*operands: Any) -> list[Any]:
            outs = replay(graph, operands)
            code = as_array(outs[count]) if type(outs[count]) is Literal else outs[count]
            code = snp.where(code != 0, code + offset, np.int32(0)) if known else np.int32(0)
            own = [outs[count + 1 :] if i == number else _filled(a) for i, a in enumerate(avals)]
            return [*outs[:count], snp.asarray(code), *[p for part in own for p in part]]

        return trace_closed(flat, graph.in_avals)

    outs = e.primitive(*args, branches=tuple(map(branch, range(len(made)))))
    state.add(checks, outs[count], outs[count + 1 :])
    return list(outs[:count])


_CODE = ShapedArray.of((), np.dtype(np.int32))


def _kept(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """The older code and payload where something failed before."""
    failed = old[0] != 0
    return [snp.where(failed, o, n) for o, n in zip(old, new, strict=True)]


def _scanned(state: State, e: Equation, args: list[Any], enabled: Enabled) -> list[Any]:
    graph, checks = _checked(e.params["graph"], enabled)
    if not checks:
        return _plain(state, e, args, enabled)
    consts, carry, outputs = e.params["num_consts"], e.params["num_carry"], len(e.params["graph"].outputs)
    state_avals = [_CODE, *_payload_avals(graph, outputs)]
    width = len(state_avals)

    def flat(*operands: Any) -> list[Any]:
        old = operands[consts : consts + width]
        outs = replay(graph, [*operands[:consts], *operands[consts + width :]])
        return [*_kept(old, outs[outputs:]), *outs[:outputs]]

    avals = graph.in_avals
    body = trace_closed(flat, [*avals[:consts], *state_avals, *avals[consts:]])
    params = {**e.params, "graph": body, "num_carry": carry + width}
    outs = e.primitive(*args[:consts], *_filled(state_avals), *args[consts:], **params)
    state.add(checks, outs[0], outs[1:width])
    return list(outs[width:])


def _repeated(state: State, e: Equation, args: list[Any], enabled: Enabled) -> list[Any]:
    (cond, of_cond), (body, of_body) = (_checked(e.params[name], enabled) for name in ("cond", "body"))
    if not of_cond and not of_body:
        return _plain(state, e, args, enabled)
    first, second, carry = e.params["cond_consts"], e.params["body_consts"], len(e.outputs)
    cond_payload, body_payload = _payload_avals(cond, 1), _payload_avals(body, carry)
    state_avals = [_CODE, *cond_payload, *body_payload]
    width = len(state_avals)

    def decide(*operands: Any) -> list[Any]:
        return replay(cond, [*operands[:first], *operands[first + width :]])[:1]

    def step(*operands: Any) -> list[Any]:
        # What decides on the next step runs after this one.
        ours, old = operands[: first + second], operands[first + second : first + second + width]
        outs = replay(body, [*ours[first:], *operands[first + second + width :]])
        found, after = State(), replay(cond, [*ours[:first], *outs[:carry]])
        found.add(of_body, outs[carry], outs[carry + 1 :])
        found.add(of_cond, after[1], after[2:])
        code = found.code
        if of_body and of_cond:
            # Conditions are counted first.
            n, m = np.int32(len(of_cond)), np.int32(len(of_body))
            code = snp.where(code == 0, code, snp.where(code > m, code - m, code + n))
        return [*_kept(old, [code, *after[2:], *outs[carry + 1 :]]), *outs[:carry]]

    consts, init = args[: first + second], args[first + second :]
    in_avals = [*cond.in_avals[:first], *body.in_avals[:second], *state_avals, *body.in_avals[second:]]
    start = replay(cond, [*consts[:first], *init])[1:] if of_cond else [zeros(_CODE)]
    outs = e.primitive(
        *consts[:first],
        *consts,
        *start,
        *_filled(body_payload),
        *init,
        cond=trace_closed(decide, [*in_avals[:first], *in_avals[first + second :]]),
        body=trace_closed(step, in_avals),
        cond_consts=first,
        body_consts=first + second,
    )
    state.add([*of_cond, *of_body], outs[0], outs[1:width])
    return list(outs[width:])


# What can make NaN of numbers. Others move elements, or hand on the NaN of an operand.
_RULES: dict[str, Callable[[State, Equation, list[Any], Enabled], list[Any]]] = {
    **dict.fromkeys(
        """
        acos acosh add asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt conv_general_dilated cos cosh cumlogsumexp
        cummax cummin cumprod cumsum custom_linear_solve digamma dot_general erf erf_inv erfc exp exp2 expm1 fft
        integer_pow lgamma log log1p logistic mul pad polygamma pow psum reduce reduce_prod reduce_sum reduce_window
        reduce_window_prod reduce_window_sum rem rsqrt sin sinh sqrt square sub tan tanh zeta
        """.split(),
        _computed,
    ),
    **dict.fromkeys(
        """
        dynamic_slice dynamic_update_slice gather scatter scatter_add scatter_max scatter_min scatter_mul scatter_sub
        """.split(),
        _indexed,
    ),
    **dict.fromkeys(("custom_jvp_call", "custom_vjp_call"), _custom),
    **dict.fromkeys(("checkpoint", "jit"), _called),
    "check": _user,
    "cond": _branched,
    "div": _divided,
    "scan": _scanned,
    "while": _repeated,
}


def checkify(f: Callable[..., Any], errors: Enabled = user_checks) -> Callable[..., tuple[Error, Any]]:
    """A function that returns the first failure among its checks in addition to its result.

    Args:
      f: a function of pytrees of arrays.
      errors: the checks that are made: `user_checks`, those of `check`; `nan_checks`, for results that are NaN;
        `div_checks`, for divisors of zero; `index_checks`, for indices beyond an axis; `float_checks`,
        `automatic_checks` and `all_checks`, which are several of these.

    Returns:
      A function with the result `(error, out)`. `error.get()` says what failed, or None; `error.throw()` raises it.

    >>> import stagec.numpy as snp
    >>> from stagec.experimental import checkify
    >>> error, y = checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks)(snp.arange(3), 5)
    >>> error.get()
    'out-of-bounds indexing for array of shape (3,): index 5 is out of bounds for axis 0 with size 3. '
    """
    enabled = frozenset(errors)

    @wraps(f, "checkify")
    def call(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        recorded: JitFunction[..., Any] = jit(lambda *args, **kwargs: f(*args, **kwargs))
        trace, values = recorded._traced(args, kwargs)
        outs, state = _run(trace.graph, [*trace.captured, *[as_array(as_operand(v)) for v in values]], enabled)
        return Error(snp.asarray(state.code), state.payload, tuple(state.checks)), trace.out_tree.unflatten(outs)

    return call
