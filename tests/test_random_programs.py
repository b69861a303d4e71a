"""Random programs mean the same at every stage: NumPy, the graph, StableHLO, the passes' result, machine code.

The compiler contracts `a * b + c` into one rounding, so results that feed
further arithmetic are kept exact: values are short dyadic numbers, infinities,
NaN and both zeros. Operations that round end a chain and are compared loosely.
"""

import dataclasses
import os

import numpy as np
from hypothesis import HealthCheck, given, settings, strategies as st

import passes
import stagec
import stagec.numpy as snp
from passes.numeric import interpreter
from stagec import lax
from stagec.core.graph import replay

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 4.0, np.inf, -np.inf, np.nan]
INTEGERS = [0, 1, -1, 2, 3, 7, -8, 100, 2**31 - 1, -(2**31)]
SHAPES = [(), (4,), (2, 4), (2, 1), (3, 2)]


@dataclasses.dataclass(frozen=True)
class Op:
    name: str
    takes: str  # a letter for each operand: f, i, b, or n for f and i
    apply: object  # (module, *operands) -> result
    exact: bool = True


def changed(m, a, method, index, value):
    """`a.at[index].method(value)`, in NumPy too."""
    if m is snp:
        return getattr(a.at[index], method)(value)
    a = np.array(a)
    if method == "set":
        a[index] = value
    else:
        {"add": np.add, "max": np.maximum}[method].at(a, index, value)
    return a


def places(m, i, n):
    return i.reshape(-1) % n


def chosen(m, i, true, false, *operands):
    """One of two functions, by whether the first integer is even."""
    even = i.reshape(-1)[0] % 2 == 0
    return lax.cond(even, true, false, *operands) if m is snp else (true if even else false)(*operands)


def repeated(m, times, body, state):
    if m is snp:
        return lax.fori_loop(0, times, body, state)
    for k in range(times):
        state = body(k, state)
    return state


def loop_beside_update(m, i, a):
    # `a` is read by a loop, updated, and needed again.
    total = repeated(m, 2, lambda k, s: m.maximum(s, a) + 0, a)
    new = changed(m, a, "set", 0, 2)
    return m.concatenate([total.reshape(-1), new.reshape(-1), a.reshape(-1)])


def choice_beside_update(m, i, a):
    one = chosen(m, i, lambda a: -a, lambda a: a, a)
    new = changed(m, a, "set", places(m, i, a.shape[0]), 2)
    return m.concatenate([one.reshape(-1), changed(m, one, "set", -1, 3).reshape(-1), new.reshape(-1), a.reshape(-1)])


# Where NumPy leaves open which zero comes out, 0 is added.
OPS = [
    Op("add", "ff", lambda m, a, b: a + b),
    Op("sub", "ff", lambda m, a, b: a - b),
    Op("mul", "ff", lambda m, a, b: a * b),
    Op("neg", "f", lambda m, a: -a),
    Op("abs", "n", lambda m, a: abs(a)),
    Op("floor", "f", lambda m, a: m.floor(a)),
    Op("ceil", "f", lambda m, a: m.ceil(a)),
    Op("rint", "f", lambda m, a: m.rint(a)),
    Op("sign", "n", lambda m, a: m.sign(a) + 0),
    Op("maximum", "ff", lambda m, a, b: m.maximum(a, b) + 0),
    Op("minimum", "ff", lambda m, a, b: m.minimum(a, b) + 0),
    Op("clip", "f", lambda m, a: m.clip(a, -1.0, 2.0) + 0),
    Op("iadd", "ii", lambda m, a, b: a + b),
    Op("isub", "ii", lambda m, a, b: a - b),
    Op("imul", "ii", lambda m, a, b: a * b),
    Op("imax", "ii", lambda m, a, b: m.maximum(a, b)),
    Op("and", "ii", lambda m, a, b: a & b),
    Op("or", "ii", lambda m, a, b: a | b),
    Op("xor", "ii", lambda m, a, b: a ^ b),
    Op("invert", "i", lambda m, a: ~a),
    Op("shift left", "i", lambda m, a: a << 3),
    Op("shift right", "i", lambda m, a: a >> 2),
    Op("floor divide", "i", lambda m, a: a // 3),
    Op("remainder", "i", lambda m, a: a % 5),
    Op("less", "ff", lambda m, a, b: a < b),
    Op("equal", "ff", lambda m, a, b: a == b),
    Op("iless", "ii", lambda m, a, b: a <= b),
    Op("isnan", "f", lambda m, a: m.isnan(a)),
    Op("not", "b", lambda m, a: ~a),
    Op("both", "bb", lambda m, a, b: a & b),
    Op("where", "bff", lambda m, c, a, b: m.where(c, a, b)),
    Op("iwhere", "bii", lambda m, c, a, b: m.where(c, a, b)),
    Op("transpose", "n", lambda m, a: a.T),
    Op("ravel", "n", lambda m, a: a.reshape(-1)),
    Op("flip", "n", lambda m, a: m.flip(a)),
    Op("row", "n", lambda m, a: a[-1:] if a.ndim else a),
    Op("step", "n", lambda m, a: a[..., ::2] if a.ndim else a),
    Op("new axis", "n", lambda m, a: a[..., None] if a.ndim < 2 else a),
    Op("column", "n", lambda m, a: a[:, -1] if a.ndim == 2 else a),
    Op("numbers", "i", lambda m, i: m.arange(i.size, dtype=np.int32).reshape(i.shape)),
    Op("halves", "f", lambda m, a: (m.arange(a.size, dtype=np.float32) * np.float32(0.5)).reshape(a.shape)),
    Op("stack", "ff", lambda m, a, b: m.concatenate([a.reshape(-1), b.reshape(-1)])),
    Op("pad", "i", lambda m, a: m.pad(a, 1) if a.ndim else a),
    Op("max", "f", lambda m, a: m.max(a) + 0),
    Op("last sum", "i", lambda m, a: m.sum(a, axis=-1, dtype=np.int32) if a.ndim else a),
    Op("any", "b", lambda m, a: m.any(a)),
    Op("all", "b", lambda m, a: m.all(a, axis=0) if a.ndim else a),
    Op("argmax", "f", lambda m, a: m.argmax(a).astype(np.int32)),
    Op("sort", "n", lambda m, a: m.sort(a.reshape(-1)) + 0),
    Op("argsort", "n", lambda m, a: m.argsort(a.reshape(-1), stable=True).astype(np.int32)),
    Op("cumsum", "i", lambda m, a: m.cumsum(a.reshape(-1), dtype=np.int32)),
    Op("to int", "b", lambda m, a: a.astype(np.int32)),
    Op("to float", "b", lambda m, a: a.astype(np.float32)),
    Op("set row", "n", lambda m, a: changed(m, a, "set", 0, 2) if a.ndim else a),
    Op("set places", "in", lambda m, i, a: changed(m, a, "set", places(m, i, a.shape[0]), 1) if a.ndim else a),
    Op("add at places", "ii", lambda m, i, a: changed(m, a, "add", places(m, i, a.shape[0]), 1) if a.ndim else a),
    Op("max at one", "ii", lambda m, i, a: changed(m, a.reshape(-1)[:1], "max", places(m, i, 1), 5)),
    Op("add at one row", "ii", lambda m, i, a: changed(m, a[:1], "add", places(m, i, 1), 5) if a.ndim else a),
    Op("gather", "in", lambda m, i, a: a.reshape(-1)[::2][places(m, i, (a.size + 1) // 2)]),
    Op("gather rows", "in", lambda m, i, a: a[:, ::2][places(m, i, a.shape[0])] if a.ndim == 2 else a),
    Op("sort rows", "n", lambda m, a: m.sort(a, axis=0) + 0 if a.ndim else a),
    Op("sort part", "n", lambda m, a: m.sort(a[..., 1:], axis=0) + 0 if a.ndim > 1 and a.shape[-1] > 1 else a),
    Op("choose", "in", lambda m, i, a: chosen(m, i, lambda a: -a, lambda a: a, a)),
    Op("choose and set", "in", lambda m, i, a: chosen(m, i, lambda a: changed(m, a, "set", ..., 1), lambda a: a, a)),
    Op("choose of two", "iff", lambda m, i, a, b: chosen(m, i, lambda a, b: a + b, lambda a, b: b + a * 0, a, b)),
    Op("loop", "n", lambda m, a: repeated(m, 3, lambda k, s: m.flip(s), a)),
    Op("loop and set", "n", lambda m, a: repeated(m, 2, lambda k, s: changed(m, s, "set", -1, 1), a) if a.ndim else a),
    Op("loop beside update", "in", lambda m, i, a: loop_beside_update(m, i, a) if a.ndim else a),
    Op("choice beside update", "in", lambda m, i, a: choice_beside_update(m, i, a) if a.ndim else a),
    Op("row sums", "f", lambda m, a: m.sum(a, axis=0) if a.ndim else a, exact=False),
    Op("products", "f", lambda m, a: m.prod(a, axis=-1) if a.ndim else a, exact=False),
    Op("divide", "ff", lambda m, a, b: a / b, exact=False),
    Op("sqrt", "f", lambda m, a: m.sqrt(a), exact=False),
    Op("exp", "f", lambda m, a: m.exp(a), exact=False),
    Op("log", "f", lambda m, a: m.log(a), exact=False),
    Op("sin", "f", lambda m, a: m.sin(m.clip(a, -100.0, 100.0)), exact=False),
    Op("tanh", "f", lambda m, a: m.tanh(a), exact=False),
    Op("sum", "f", lambda m, a: m.sum(a), exact=False),
    Op("dot", "f", lambda m, a: a.reshape(-1) @ a.reshape(-1), exact=False),
]
SET_ROW = next(op for op in OPS if op.name == "set row")
KIND = {"f": "f", "i": "i", "b": "b", "n": "fi"}
DTYPE = {"f": np.float32, "i": np.int32, "b": np.bool_}


def is_short(a):
    """Whether products and sums of a few such numbers round nowhere."""
    finite = a[np.isfinite(a)]
    return bool(np.all(np.abs(finite) <= 2**10) and np.all(finite * 4 == np.round(finite * 4)))


@st.composite
def programs(draw, floats=FLOATS):
    """Inputs, and steps `(operation, operand numbers)` over them and earlier results."""
    inputs = []
    for kind in draw(st.lists(st.sampled_from("ffib"), min_size=2, max_size=4)):
        shape = draw(st.sampled_from(SHAPES))
        pool = {"f": floats, "i": INTEGERS, "b": [False, True]}[kind]
        size = int(np.prod(shape))
        values = draw(st.lists(st.sampled_from(pool), min_size=size, max_size=size))
        inputs.append(np.array(values, DTYPE[kind]).reshape(shape))
    values = list(inputs)
    usable = list(range(len(inputs)))
    steps = []
    beside = None  # what control flow has just read, to be updated next
    for _ in range(draw(st.integers(1, 30))):
        op = draw(st.sampled_from(OPS)) if beside is None else SET_ROW
        choices = [[i for i in usable if values[i].dtype.kind in KIND[t]] for t in op.takes]
        if not all(choices):
            continue
        numbers = tuple(draw(st.sampled_from(c)) for c in choices) if beside is None else (beside,)
        beside = None
        pairs = [(o, n) for o, n in steps if len(o.takes) == 2 and o.takes[0] == o.takes[1]]
        if pairs and draw(st.integers(0, 5)) == 0:  # the same again, the other way round
            op, numbers = draw(st.sampled_from(pairs))
            numbers = numbers[::-1]
        try:
            with np.errstate(all="ignore"):
                value = np.asarray(op.apply(np, *[values[i] for i in numbers]))
        except ValueError:  # shapes that do not broadcast
            continue
        if value.size > 64 or value.ndim > 3:
            continue
        if value.dtype.kind == "f" and op.exact and not is_short(value):
            continue
        steps.append((op, numbers))
        if op.name in ("choose", "loop") and draw(st.booleans()):
            beside = numbers[-1]
        if op.exact:
            usable.append(len(values))
        values.append(value)
    return inputs, steps, values


def function_of(steps):
    def program(*inputs):
        values = list(inputs)
        for op, numbers in steps:
            values.append(op.apply(snp, *[values[i] for i in numbers]))
        return values[len(inputs) :]

    return program


def check(stage, steps, inputs, expected, actual):
    for (op, numbers), want, got in zip(steps, expected, actual, strict=True):
        got = np.asarray(got)
        text = f"{stage}: {op.name} of {numbers}\n{[(o.name, n) for o, n in steps]}\n{inputs}"
        assert got.shape == want.shape, text
        assert got.dtype.kind == want.dtype.kind, text
        if op.exact:
            np.testing.assert_array_equal(got, want, err_msg=text)
            if want.dtype.kind == "f":
                zero = want == 0
                np.testing.assert_array_equal(np.signbit(got)[zero], np.signbit(want)[zero], err_msg=text)
        else:
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6, err_msg=text)


def check_up_to_the_compiler(program):
    inputs, steps, values = program
    expected = values[len(inputs) :]
    function = function_of(steps)
    check("eager", steps, inputs, expected, function(*[snp.asarray(x) for x in inputs]))
    traced = stagec.jit(function, keep_unused=True).trace(*inputs)
    check("graph", steps, inputs, expected, [getattr(v, "value", v) for v in replay(traced.graph.graph, inputs)])
    computed = stagec.make_graph(function)(*inputs)
    if not computed.eqns:
        return function
    from stagec.lowering.lower import lower

    module = lower(traced.graph.graph)
    check("lowered", steps, inputs, expected, interpreter.interpret(module, *inputs))
    passes.run(module, "default")
    check("optimized", steps, inputs, expected, interpreter.interpret(module, *inputs))
    return function


# A longer hunt, different each time: STAGEC_FUZZ=20 python -m pytest tests/test_random_programs.py
TIMES = int(os.environ.get("STAGEC_FUZZ", "1"))
SETTINGS = dict(deadline=None, derandomize=TIMES == 1, suppress_health_check=list(HealthCheck))


@given(programs())
@settings(max_examples=60 * TIMES, **SETTINGS)
def test_programs_mean_the_same_until_they_are_compiled(program):
    check_up_to_the_compiler(program)


@given(programs())
@settings(max_examples=15 * TIMES, **SETTINGS)
def test_programs_mean_the_same_compiled(program):
    inputs, steps, values = program
    check("compiled", steps, inputs, values[len(inputs) :], stagec.jit(function_of(steps))(*inputs))
    # What nothing else needs may be overwritten: the same program, but only its last results are returned.
    read = {number for _, numbers in steps for number in numbers}
    last = [k for k in range(len(steps)) if len(inputs) + k not in read]
    if 0 < len(last) < len(steps):
        results = stagec.jit(lambda *xs: [function_of(steps)(*xs)[k] for k in last])(*inputs)
        check("last", [steps[k] for k in last], inputs, [values[len(inputs) + k] for k in last], results)
