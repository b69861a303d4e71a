"""Loops as kernels: each operation means what it means elsewhere, and the plan says what stays outside."""

import ctypes
import itertools
import mmap
import re

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from passes import bindings, kernels, pipeline
from passes.match import operations_in
from passes.pipeline import PassOptions
from stagec import lax

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def pairs(dtype):
    """All pairs of the values at which operations behave in their own way."""
    kind = np.dtype(dtype).kind
    if kind == "f":
        some = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-3, 3.7e9, -1e20, 0.5]
    elif kind == "b":
        some = [False, True]
    else:
        info = np.iinfo(dtype)
        some = [0, 1, info.max, info.min, 2, 7, 9, info.bits - 1, info.bits, info.max - 1] + (
            [-1, -3] if kind == "i" else []
        )
    x, y = zip(*itertools.product(some, some), strict=True)
    return np.array(x, dtype), np.array(y, dtype)


def in_a_loop(functions, *operands):
    """The results of functions of arrays of one shape and dtype, each computed in a round of a loop, and without it."""
    first = evaluated(functions, *operands)

    def program(*operands):
        def body(i, state):
            return [y.at[i].set(f(*operands)) for y, f in zip(state, functions, strict=True)]

        return lax.fori_loop(0, 2, body, [snp.zeros((2, *y.shape), y.dtype) for y in first])

    assert "a kernel of" in plan(program, *operands)
    return [(np.asarray(y[1]), x) for y, x in zip(stagec.jit(program)(*operands), first, strict=True)]


def evaluated(functions, *operands):
    """The results of functions evaluated with NumPy."""
    with stagec.disable_jit():
        return [np.asarray(f(*map(snp.asarray, operands))) for f in functions]


def plan(function, *operands):
    """The comments at the head of the module with kernels."""
    text = stagec.jit(function).lower(*operands).as_text("kernels")
    return "\n".join(line for line in text.splitlines() if line.startswith("// "))


@pytest.fixture(autouse=True)
def wide():
    with stagec.enable_x64(), np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_arithmetic_is_the_evaluated_one(dtype):
    functions = [
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lax.div,
        lax.rem,
        lax.max,
        lax.min,
        lambda x, y: lax.shift_left(x, y),
        lambda x, y: lax.shift_right_logical(x, y),
        lambda x, y: lax.shift_right_arithmetic(x, y),
        lambda x, y: -x ^ (y & ~x) | x,
        lambda x, y: lax.sign(x) + lax.population_count(y) + lax.clz(x),
        lambda x, y: abs(x) if dtype.startswith("i") else x,
        lambda x, y: snp.where(x < y, x, y + (x <= y).astype(dtype) + (x != y).astype(dtype)),
    ]
    for number, (got, want) in enumerate(in_a_loop(functions, *pairs(dtype))):
        np.testing.assert_array_equal(got, want, err_msg=f"function {number}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_arithmetic_is_the_evaluated_one(dtype):
    functions = [
        lambda x, y: x + y - x,
        lambda x, y: x * y,
        lax.div,
        lax.rem,
        # Which of two zeros is larger, NumPy does not say.
        lambda x, y: lax.max(x, y) + 0,
        lambda x, y: lax.min(x, y) + 0,
        lambda x, y: lax.clamp(-y, x, y + 1) + 0,
        lambda x, y: lax.sign(x) - lax.floor(y),
        lambda x, y: lax.ceil(x) + lax.round(y),
        lambda x, y: snp.where(snp.isfinite(y), abs(x), y),
        lambda x, y: snp.where((x < y) | (x != x), x, -y),
    ]
    for number, (got, want) in enumerate(in_a_loop(functions, *pairs(dtype))):
        np.testing.assert_array_equal(got, want, err_msg=f"function {number}")
        same = np.signbit(got) == np.signbit(want)
        assert np.all(same | np.isnan(want)), f"function {number}: signs of zeros"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_are_as_accurate_as_the_evaluated_ones(dtype):
    x = np.concatenate([np.linspace(-4, 4, 61), [0.0, 30.0, -30.0, 1e-6]]).astype(dtype)
    y = np.abs(x) + np.asarray(0.25, dtype)
    functions = [
        *(lambda x, y, f=f: f(x) for f in (lax.exp, lax.expm1, lax.tanh, lax.sin, lax.cos, lax.tan, lax.logistic)),
        *(lambda x, y, f=f: f(y) for f in (lax.log, lax.log1p, lax.sqrt, lax.rsqrt, lax.cbrt, lax.lgamma, lax.digamma)),
        *(lambda x, y, f=f: f(x) for f in (lax.erf, lax.erfc, lax.sinh, lax.cosh, lax.asinh, lax.atan)),
        lambda x, y: lax.pow(y, x),
        lambda x, y: lax.atan2(x, y),
        lambda x, y: lax.atanh(x / (y * 2)) + lax.acosh(y + 1),
    ]
    tolerance = 2e-6 if dtype == "float32" else 2e-14
    for number, (got, want) in enumerate(in_a_loop(functions, x, y)):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=f"function {number}")


@pytest.mark.parametrize("source", [*INTEGERS, "float32", "float64", "bool"])
def test_conversions_are_the_evaluated_ones(source):
    x, _ = pairs(source)
    targets = [*INTEGERS, "float32", "float64", "bool"]
    for target, (got, want) in zip(targets, in_a_loop([lambda x, t=t: x.astype(t) for t in targets], x), strict=True):
        np.testing.assert_array_equal(got, want, err_msg=f"{source} to {target}")


REDUCED = {
    "sum": lambda x: x.sum(0),
    "sum of rows": lambda x: x.sum(1),
    "all": lambda x: x.sum(),
    "max": lambda x: x.max(1),
    "min of columns": lambda x: x.min(0),
    "prod": lambda x: x.prod(1),
    "argmax": lambda x: x.argmax(1),
    "argmin of columns": lambda x: x.argmin(0),
    "any": lambda x: (x > 1).any(1),
    "all of columns": lambda x: (x > -9).all(0),
    "product": lambda x: x @ x.T,
    "product from the left": lambda x: x.T @ x,
    "vector": lambda x: x @ x[0],
    "batch": lambda x: snp.einsum("ij,ij->i", x, x),
    "mean and variance": lambda x: snp.var(x, 1) + snp.mean(x, 1),
    "logsumexp": lambda x: stagec.nn.logsumexp(x, 1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("shape", [(5, 3), (17, 41)])
def test_reductions_and_products(dtype, shape):
    x = (np.random.default_rng(0).normal(size=shape) * 3).astype(dtype)
    if dtype == "int32":
        chosen = {k: v for k, v in REDUCED.items() if k not in ("mean and variance", "logsumexp")}
    else:
        chosen = REDUCED
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    for name, (got, want) in zip(chosen, in_a_loop(list(chosen.values()), x), strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
@pytest.mark.parametrize("columns", [2, 3, 5])
def test_few_columns_are_summed_up_in_vectors_along_the_other_axis(dtype, columns):
    rng = np.random.default_rng(columns)
    x = (rng.integers(-9, 9, (3, 45, columns)) * 0.5).astype(dtype)

    def rounds(x):
        return lax.fori_loop(
            0, 2, lambda i, s: (s[0] + (x * x).sum(1, dtype), x[i].sum(0, dtype)), (snp.zeros_like(x[:, 0]), x[0, 0])
        )

    total, row = stagec.jit(rounds)(x)
    np.testing.assert_array_equal(np.asarray(total), 2 * (x * x).sum(1))
    np.testing.assert_array_equal(np.asarray(row), x[1].sum(0))


def test_only_rows_shorter_than_a_vector_are_summed_up_across():
    def step(width):
        lowered = stagec.jit(lambda x: lax.fori_loop(0, 9, lambda i, x: x - x.mean(0), x), target="cpu:x86-64-v4")
        text = lowered.lower(snp.ones((100, width))).as_text("kernels")
        return "vector.reduction <add>" in text

    assert step(3) and not step(16)


def test_indices_out_of_range_are_clamped_or_dropped():
    x, v = np.arange(7, dtype=np.float32), np.float32(50)

    def program(x, start):
        def body(i, s):
            picked, dropped, slid, filled = s
            at = start + i * 3
            picked = picked.at[i].set(snp.take(x, at, mode="clip"))
            dropped = dropped.at[at].add(v)
            slid = lax.dynamic_update_slice(slid, x[:3], (at,))
            filled = filled.at[i].set(snp.take(x, at, mode="fill", fill_value=-1))
            return picked, dropped, slid, filled

        return lax.fori_loop(0, 8, body, (snp.zeros(8), x, x, snp.zeros(8)))

    for start in (-20, -8, -1, 0, 5, 2**31 - 30):
        with stagec.disable_jit():
            want = [np.asarray(y) for y in stagec.jit(program)(x, np.int32(start))]
        for got, expected in zip(stagec.jit(program)(x, np.int32(start)), want, strict=True):
            np.testing.assert_array_equal(np.asarray(got), expected, err_msg=f"start {start}")


def test_no_memory_is_read_or_written_outside_of_an_array():
    """Operands end where a page ends that may not be touched; a read after them ends the process."""
    page = mmap.PAGESIZE
    protect = ctypes.CDLL(None, use_errno=True).mprotect

    def guarded(array):
        pages = -(-array.nbytes // page) + 1
        memory = mmap.mmap(-1, pages * page)
        raw = np.frombuffer(memory, np.uint8)
        assert protect(ctypes.c_void_p(raw.ctypes.data + (pages - 1) * page), page, 0) == 0
        end = (pages - 1) * page
        placed = raw[end - array.nbytes : end].view(array.dtype).reshape(array.shape)
        placed[...] = array
        return placed

    def program(x, m):
        def body(i, y):
            y = y.at[1:].set(x[:-1] * 0.5 + y[1:])
            return y + x[m[i]] + snp.roll(x, 1) + x[::-1] + lax.dynamic_slice_in_dim(x, i + 60, 4).sum()

        return lax.fori_loop(0, 5, body, x)

    # 64-byte-aligned sizes are used where they are; only those are passed without a copy.
    x = np.arange(64 * 4, dtype=np.float32)[: 16 * 4]
    m = np.array([0, 5, 63, -1, 70] + [0] * 11, np.int32)
    want = stagec.jit(program)(x, m)
    np.testing.assert_array_equal(np.asarray(stagec.jit(program)(guarded(x), guarded(m))), np.asarray(want))


def test_an_update_in_a_loop_copies_nothing():
    def program(a):
        return lax.fori_loop(0, 9, lambda i, a: a.at[i, i + 1].set(a[i + 1, i] + 1), a)

    assert ", 0 bytes of scratch" in plan(program, np.zeros((10, 10)))


@pytest.mark.parametrize(
    "body",
    [
        lambda k, a: (a - a[:, k][:, None] * a[k]).at[:, k].add(a[k, k]),
        lambda k, a: (a * 2 + a[0]).at[k].set(a[:, 1][:9]),
        lambda k, a: (a + a[k, 0]).at[k, 3].multiply(3),
        lambda k, a: (a - snp.flip(a[k])).at[k].add(a[1]),
    ],
)
def test_an_array_that_is_replaced_and_then_updated_is_in_place(body):
    """Only what is read elsewhere in it is stored: rows, columns and numbers."""

    def program(a):
        return lax.fori_loop(0, 5, body, a)

    a = np.random.default_rng(0).integers(-3, 4, (40, 9)).astype(np.float64)
    assert int(plan(program, a).split(" bytes of scratch")[0].split()[-1]) <= 8 * (40 + 40 + 9 + 9)
    (expected,) = evaluated([program], a)
    np.testing.assert_array_equal(np.asarray(stagec.jit(program)(a)), expected)


def test_an_array_that_is_read_afterwards_is_not_replaced():
    def program(a):
        def body(k, state):
            a, b = state
            c = (a * 2 + b[0]).at[:, k].set(1).at[snp.array([0, 3, 0]), k].add(a[1, 2])
            return c, b + a - c[k]

        return lax.fori_loop(0, 5, body, (a, a + 1))

    a = np.random.default_rng(0).integers(-3, 4, (40, 9)).astype(np.float64)
    (expected,) = evaluated([program], a)
    for got, want in zip(stagec.jit(program)(a), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(got), want)


def test_what_a_column_of_is_updated_is_computed_along_its_rows():
    def columns(a):
        def body(i, a):
            return (a * 2 + a[0]).at[:, i].add(a[:, 0])

        return lax.fori_loop(0, 3, body, a)

    def corners(a):
        def body(i, a):
            a = (a - a[1]).at[:, i, :].set(7)
            return (a * 3).at[:, :, i].add(i).at[i].multiply(2)

        return lax.fori_loop(0, 2, body, a)

    lines = stagec.jit(columns).lower(snp.ones((24, 16))).as_text("kernels").splitlines()
    before = [lines[i - 1] for i, line in enumerate(lines) if "arith.mulf" in line]
    # Only the new column is gathered.
    assert len(before) == 2 and "vector.load" in before[-1], before
    for function, shape in ((columns, (24, 16)), (columns, (5, 3)), (corners, (3, 5, 16)), (corners, (4, 2, 3))):
        a = np.random.default_rng(0).integers(-3, 4, shape).astype(np.float32)
        (expected,) = evaluated([function], a)
        np.testing.assert_array_equal(np.asarray(stagec.jit(function)(a)), expected)


@pytest.mark.parametrize("columns", [7, 15, 17, 29, 31])
def test_a_row_is_computed_before_its_last_vector_overlaps_others(columns):
    def scaled(a):
        return lax.fori_loop(0, 3, lambda i, a: a * 2 + i, a)

    def moved(a):
        return lax.fori_loop(0, 3, lambda i, a: a.at[:, :-1].set(a[:, 1:] * 2 - a[:, :-1]), a)

    def turned(a):
        return lax.fori_loop(0, 3, lambda i, a: a.at[:, 1:].set(a[:, :-1] * 2 - a[::-1, 1:]), a)

    a = np.random.default_rng(columns).integers(-3, 4, (5, columns)).astype(np.float32)
    for function in (scaled, moved, turned):
        (expected,) = evaluated([function], a)
        np.testing.assert_array_equal(np.asarray(stagec.jit(function)(a)), expected)


def test_the_remainders_of_rows_and_products_are_whole_vectors():
    def widths(function, *operands):
        text = stagec.jit(function, target="cpu:x86-64-v3").lower(*operands).as_text("kernels")
        return {int(n) for n in re.findall(r"vector.store .*vector<(\d+)xf32>", text)}

    def rows(a):
        return lax.fori_loop(0, 3, lambda i, a: a.at[:, :-1].set(a[:, 1:] * 2 - a[:, :-1]), a)

    assert widths(rows, np.ones((5, 32), np.float32)) == {8}
    assert widths(lambda a: lax.fori_loop(0, 3, lambda i, a: a @ a, a), np.ones((31, 31), np.float32)) == {8}


def test_a_row_and_a_column_are_stored_in_place_of_a_matrix():
    def program(d):
        return lax.fori_loop(0, 20, lambda k, d: snp.minimum(d, d[:, k][:, None] + d[k][None, :]), d)

    assert f", {2 * 20 * 8} bytes of scratch" in plan(program, np.zeros((20, 20)))


def test_state_that_is_computed_from_each_other_at_the_same_index_needs_no_scratch():
    def program(x, v):
        return lax.fori_loop(0, 9, lambda _, s: (s[0] + 0.1 * s[1], s[1] - 0.1 * s[0]), (x, v))

    assert ", 0 bytes of scratch" in plan(program, np.zeros(40), np.zeros(40))


def test_state_that_overwrites_itself_waits_for_nobody():
    """The second array reads the first, which reads itself in order, and itself in reverse."""

    def program(a, b):
        return lax.fori_loop(0, 3, lambda i, s: (s[0] * 2, s[1][::-1] + s[0]), (a, b))

    x = np.arange(9.0)
    assert "a kernel of" in plan(program, x, x)
    doubled, turned = stagec.jit(program)(x, x)
    assert np.array_equal(doubled, 8 * x)
    assert np.array_equal(turned, x[::-1] + x + 2 * x[::-1] + 4 * x)


def test_what_is_put_together_of_parts_is_not_copied_first():
    def program(x):
        return lax.fori_loop(0, 9, lambda _, x: snp.roll(x, 1) * 0.5 + snp.pad(x[1:], (0, 1)), x)

    # One array: each element needs its old neighbours.
    assert f", {50 * 8} bytes of scratch" in plan(program, np.zeros(50))


def test_axes_that_are_one_row_are_not_taken_for_one_where_padding_ends():
    def padded(m, x):
        return m.pad(x[..., 1:] * 0.5, [(0, 0)] * 3 + [(1, 0)]) + x

    x = np.random.default_rng(0).normal(size=(2, 3, 8, 31))
    found = stagec.jit(lambda x: lax.fori_loop(0, 2, lambda _, x: padded(snp, x), x))(x)
    np.testing.assert_allclose(np.asarray(found), padded(np, padded(np, x)), rtol=1e-12)


@pytest.mark.parametrize("target", ["cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:aarch64"])
def test_loops_are_kernels_on_every_kind_of_cpu(target):
    def program(x):
        return lax.fori_loop(0, 9, lambda i, x: x.at[i].set(snp.sin(x).sum() + x @ x), x)

    with stagec.config.override(target=target):
        assert "a kernel of" in plan(program, np.zeros(50))
        assert stagec.jit(program).lower(np.zeros(50)).as_text("asm")


def test_choices_update_in_place():
    def program(x):
        def body(i, x):
            return lax.cond(x[i] > 0, lambda x: x.at[i].set(-x[i]), lambda x: x, x)

        return lax.fori_loop(0, 9, body, x)

    assert ", 0 bytes of scratch" in plan(program, np.zeros(40))


def test_a_loop_that_stays_has_kernels_inside_and_a_reason():
    def program(x):
        def outer(_, x):
            return lax.fori_loop(0, 5, lambda i, x: x.at[i].set(x[i + 1] * 0.5), snp.sort(x))

        return lax.fori_loop(0, 3, outer, x)

    x = np.random.default_rng(1).normal(size=9)
    found = plan(program, x)
    assert found.count("stays outside (sort has no form in kernels)") == 2 and "loop" in found
    assert "a kernel of" in found
    with stagec.config.override(cpu_kernels=False):
        want = np.asarray(stagec.jit(program)(x))
        assert "kernel of" not in plan(program, x)
    np.testing.assert_array_equal(np.asarray(stagec.jit(program)(x)), want)


def test_kernels_read_constant_arrays_wherever_they_are():
    matrix = np.random.default_rng(3).normal(size=(6, 6)) / 4

    def program(x):
        def step(i, x):
            return lax.cond(i % 2 == 0, lambda x: matrix @ x, lambda x: x + np.linspace(0, 1, 6), x)

        return lax.fori_loop(0, 5, step, x * np.arange(6.0)) + np.linspace(0, 1, 6)

    x = np.random.default_rng(4).normal(size=6).astype(np.float32)
    found = plan(program, x)
    assert found.count("a kernel of") == 1 and "stays outside" not in found
    with stagec.disable_jit():
        want = np.asarray(program(snp.asarray(x)))
    np.testing.assert_allclose(stagec.jit(program)(x), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("is_counted", "sizes"), [(True, (500, 2000)), (False, (4000, 10_000))])
def test_rounds_are_left_to_several_cores_from_a_millisecond_and_sooner_in_one_dispatch(is_counted, sizes):
    def step(x):
        return x.at[1:-1].set(0.25 * x[:-2] + 0.5 * x[1:-1] + 0.25 * x[2:])

    def smooth(x):
        if is_counted:
            return lax.fori_loop(0, 9, lambda i, x: step(x), x)
        return lax.while_loop(lambda x: x[0, 0] < 9, step, x)

    spec = [stagec.ShapeDtypeStruct((rows, 100), np.float32) for rows in sizes]
    inside, outside = (plan(smooth, one) for one in spec)
    assert "stays" not in inside
    assert "of work in each round, which threads can share" in outside and "a kernel of" in outside


def test_operations_in_a_kernel_keep_the_users_lines():
    def program(x):
        return lax.fori_loop(0, 3, lambda i, x: x * 2 + snp.sin(x), x)

    text = stagec.jit(program).lower(np.ones(9)).as_text("stablehlo", locations=True)
    module = bindings.ir.Module.parse(text, bindings.new_context())
    pipeline.run(module, "values")
    assert kernels.form(module, PassOptions()) == {"loops": 1}
    found = [op for op in operations_in(module.operation) if op.name in ("arith.mulf", "math.sin", "vector.store")]
    assert found and all("test_kernel_loops.py" in str(op.location) for op in found)


def test_flat_state_that_is_seen_as_rows_is_in_place_as_rows_are():
    def leveled(i, r):
        return r - r.mean(1, keepdims=True) * i

    def flat(x):
        return lax.fori_loop(0, 5, lambda i, x: leveled(i, x.reshape(40, 30)).reshape(-1), x)

    x = np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)
    rows = stagec.jit(lambda x: lax.fori_loop(0, 5, leveled, x))
    plans = [f.lower(a).as_text("kernels").splitlines()[0] for f, a in ((rows, x), (stagec.jit(flat), x.reshape(-1)))]
    assert plans[0] == plans[1] and "a kernel of" in plans[0]
    found = stagec.jit(flat)(x.reshape(-1))
    np.testing.assert_array_equal(np.asarray(found).reshape(40, 30), np.asarray(rows(x)))


def test_a_loop_may_have_more_arrays_than_a_dispatch():
    dtypes = ["float32", "int32", "bool", "uint8", "complex64", "float64", "int32", "float32"]
    shapes = [(), (5,), (2, 3), (1,)]
    rng = np.random.default_rng(0)
    with stagec.enable_x64():
        arrays = [rng.integers(0, 2, shapes[i % 4]).astype(d) for i, d in enumerate(dtypes * 6)]
        large = rng.random((40, 50)).astype(np.float32)

        def program(large, arrays):
            def step(state, i):
                large, *rest = state
                rest = [x ^ (i % 2 == 0) if x.dtype == bool else (x + 2).astype(x.dtype) for x in rest]
                return (large * 0.5, *rest[8:], *rest[:8]), (rest[0], rest[1].sum(), rest[2])

            return lax.scan(step, (large, *arrays), snp.arange(6))

        assert "stablehlo.while" not in stagec.jit(program).lower(large, arrays).as_text("kernels")
        with stagec.disable_jit():
            wanted = program(large, arrays)
        found = stagec.jit(program)(large, arrays)
        for one, other in zip(stagec.tree.leaves(found), stagec.tree.leaves(wanted), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
