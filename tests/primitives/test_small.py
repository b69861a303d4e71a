"""Dtypes of up to eight bits: held in a byte, computed in a wider dtype, outside of jit and compiled."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import dtypes, errors, lax, random
from stagec.core import dtypes as core

FLOATS = sorted(d.name for d in core.SMALL_FLOAT)
INTEGERS = sorted(d.name for d in core.SMALL_INTEGER)


def same(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if expected.dtype in core.SMALL:
        nan = np.isnan(expected.astype("float32"))
        np.testing.assert_array_equal(np.isnan(found.astype("float32")), nan)
        np.testing.assert_array_equal(found.view("uint8")[~nan], expected.view("uint8")[~nan])
    else:
        np.testing.assert_array_equal(found, expected)
        if expected.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(found)[found == found], np.signbit(expected)[found == found])


def every(name):
    """Every number of a dtype."""
    bits = core.itemsize_bits(name)
    return np.arange(2**bits, dtype=np.uint8).view(getattr(ml_dtypes, name))


def numbers(name):
    """Every number of a dtype, the midpoints of neighbours, the numbers next to the midpoints, and others."""
    numbers = every(name).astype("float32")
    finite = np.unique(numbers[np.isfinite(numbers)])
    middle = finite[1:] / 2 + finite[:-1] / 2
    generator = np.random.default_rng(0)
    other = generator.standard_normal(2000).astype("float32") * np.float32(2) ** generator.integers(-125, 126, 2000)
    beside = [np.nextafter(middle, np.float32(to)) for to in (-np.inf, np.inf)]
    with np.errstate(over="ignore"):
        top = finite[-1] * np.array([1.03, 1.06, 1.07, 1.1, 1.25, 1.5, 2, 1e30], "float32")
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-40, -1e-45, 5.877472e-39, 8e-39]
    return np.concatenate([numbers, middle, -middle, *beside, other, top, -top, special]).astype("float32")


@pytest.mark.parametrize("name", FLOATS)
def test_conversions_round_as_ml_dtypes(name):
    kind = getattr(ml_dtypes, name)
    x, bits = numbers(name), every(name)
    with np.errstate(all="ignore"):
        narrow, half = x.astype(kind), bits.astype("float32").astype("float16")

    def run(x, bits):
        return x.astype(name), bits.astype("float32"), (x > 1).astype(name), bits.astype("float16"), bits.astype(bool)

    for found in (run(snp.asarray(x), snp.asarray(bits)), stagec.jit(run)(x, bits)):
        same(found[0], narrow)
        same(found[1], bits.astype("float32"))
        same(found[2], (x > 1).astype("float32").astype(kind))
        same(found[3], half)
        normal = bits.astype("float32") != np.float32(2.0**-127)  # what programs may take for zero
        same(np.asarray(found[4])[normal], (bits.astype("float32") != 0)[normal])


@pytest.mark.parametrize("name", INTEGERS)
def test_conversions_to_small_integers_wrap_integers_and_limit_floats(name):
    kind = getattr(ml_dtypes, name)
    low, high = core.integer_range(np.dtype(kind))
    count = high - low + 1
    whole = np.arange(-20, 40, dtype=np.int32)
    floats = np.array([-1e10, -9.5, -1.7, 0.9, 6.99, 7.5, 15.2, 1e10, np.nan, np.inf], np.float32)
    all_of_them = np.arange(low, high + 1).astype(kind)
    wrapped = ((whole - low) % count + low).astype(kind)
    limited = np.clip(np.nan_to_num(floats, posinf=1e9), low, high).astype("int32").astype(kind)

    def run(whole, floats, every):
        return whole.astype(name), floats.astype(name), every.astype("int32"), every.astype("float32")

    args = (whole, floats, all_of_them)
    for found in (run(*map(snp.asarray, args)), stagec.jit(run)(*args)):
        expected = (wrapped, limited, all_of_them.astype("int32"), all_of_them.astype("float32"))
        for f, e in zip(found, expected, strict=True):
            same(f, e)


# Functions of two arrays of all pairs of numbers; the expected values are computed wide, and rounded once.
BINARY = {
    **{"add": np.add, "subtract": np.subtract, "multiply": np.multiply},
    **{"less": np.less, "equal": np.equal},
}


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2fnuz", "float4_e2m1fn", "int4", "uint2"])
def test_arithmetic_of_all_pairs_is_rounded_once(name):
    numbers = every(name)
    x, y = (a.ravel() for a in np.meshgrid(numbers, numbers))
    wide = core.COMPUTED_IN[x.dtype]

    def run(x, y):
        return [getattr(snp, k)(x, y) for k in BINARY] + [-x, x * 3, x / y, snp.where(x < y, x, y)]

    def converted(value):
        mask = 2 ** core.itemsize_bits(name) - 1
        return (value & mask).astype("uint8").view(x.dtype) if wide.kind in "iu" else value.astype(x.dtype)

    with np.errstate(all="ignore"):
        a, b = x.astype(wide), y.astype(wide)
        expected = [f(a, b) for f in BINARY.values()] + [-a, a * wide.type(3)]
        expected = [e if e.dtype == bool else converted(e) for e in expected]
        quotient = a.astype("float32") / b.astype("float32")
        expected += [converted(quotient) if wide.kind == "f" else quotient, np.where(a < b, x, y)]
    for found in (run(snp.asarray(x), snp.asarray(y)), stagec.jit(run)(x, y)):
        for f, e in zip(found, expected, strict=True):
            same(f, e)


FUNCTIONS = {
    "sin": lambda n, x: n.sin(x),
    "sqrt": lambda n, x: n.sqrt(x),
    "exp": lambda n, x: n.exp(x),
    "tanh": lambda n, x: n.tanh(x),
    "abs": lambda n, x: abs(x),
    "power": lambda n, x: x**2,
    "remainder": lambda n, x: x % n.asarray(0.75, x.dtype),
    "with int32": lambda n, x: x + n.asarray([1, 2], "int32"),
    "with bool": lambda n, x: x * n.asarray(True),
    "max": lambda n, x: n.max(x),
    "argmax": lambda n, x: n.argmax(x),
    "sort": lambda n, x: n.sort(x),
    "cumsum": lambda n, x: n.cumsum(x),
    "product": lambda n, x: n.matmul(x, x),
    "product in float32": lambda n, x: n.matmul(x, x, preferred_element_type=n.float32),
    "floor": lambda n, x: n.floor(x),
    "isnan": lambda n, x: n.isnan(x),
    "clip": lambda n, x: n.clip(x, 0.5, 1.5),
    "update": lambda n, x: x.at[0].add(1),
    "arange": lambda n, x: n.arange(4, dtype=x.dtype),
    "linspace": lambda n, x: n.linspace(0, 1, 5, dtype=x.dtype),
}


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e3m4", "float8_e4m3b11fnuz"])
def test_functions_are_jaxs(name):
    jnp = pytest.importorskip("jax.numpy")
    x = np.array([[0.5, -1.25], [2.0, 0.125]]).astype(getattr(ml_dtypes, name))

    def run(x):
        return [f(snp, x) for f in FUNCTIONS.values()]

    expected = [np.asarray(f(jnp, jnp.asarray(x))) for f in FUNCTIONS.values()]
    for how in (run, stagec.jit(run)):
        for label, f, e in zip(FUNCTIONS, how(snp.asarray(x)), expected, strict=True):
            assert (label, f.dtype, np.asarray(f).tolist()) == (label, e.dtype, e.tolist()) or np.isnan(
                e.astype("float32")
            ).any()


@pytest.mark.parametrize("name", INTEGERS)
def test_bits_of_integers(name):
    x = every(name)
    width, (low, _) = core.itemsize_bits(name), core.integer_range(x.dtype)
    bits = [int(n) & (2**width - 1) for n in x.astype(int)]
    expected = {
        "popcount": [n.bit_count() for n in bits],
        "logical": [n >> 1 for n in bits],
        "arithmetic": [int(n) >> 1 for n in x.astype(int)],
        "left": [n << 1 for n in bits],
        "not": [~n for n in bits],
        "and": [n & 2 for n in bits],
    }

    def run(x):
        one, two = snp.ones_like(x), snp.ones_like(x) << 1
        return {
            "popcount": lax.population_count(x),
            "logical": lax.shift_right_logical(x, one),
            "arithmetic": x >> 1,
            "left": x << 1,
            "not": ~x,
            "and": x & two,
        }

    for how in (run, stagec.jit(run)):
        for label, found in how(snp.asarray(x)).items():
            wrapped = [(n - low) % 2**width + low for n in expected[label]]
            assert (label, np.asarray(found).astype(int).tolist()) == (label, wrapped)
            assert found.dtype == x.dtype


def test_sums_are_rounded_once():
    ones = snp.ones(100, "float8_e5m2")
    for how in (lambda f: f, stagec.jit):
        assert how(snp.sum)(ones).astype("float32") == 96  # 100 is half way; adding one by one stops at 8
        assert how(lambda x: x @ x)(ones).astype("float32") == 96
        assert how(snp.sum)(snp.ones(100, "int4")) == 100  # as all narrow integers


@pytest.mark.parametrize("name", ["float8_e5m2", "int4"])
def test_reductions_by_functions_combine_wider_numbers(name):
    x = snp.array([1, 3, -2, 4], dtype=name)

    def run(x):
        total, least = lax.reduce([x, x], [0, 7], lambda a, b: (a[0] + b[0], lax.min(a[1], b[1])), [0])
        windows = [lax.reduce_window(x, -8, f, (2,), (1,), "VALID") for f in (lax.max, lambda a, b: lax.max(b, a))]
        return total, least, lax.reduce(x, 0, lax.add, [0]), *windows

    for how in (run, stagec.jit(run)):
        found = how(x)
        assert [f.tolist() for f in found] == [6, -2, 6, [3, 3, 4], [3, 3, 4]]
        assert {f.dtype for f in found} == {x.dtype}


@pytest.mark.parametrize("other", ["float8_e4m3fn", "float32", "bfloat16", "int4"])
def test_products_of_two_dtypes_where_the_result_is_chosen(other):
    x, y = np.array([0.5, 1, 2]).astype(ml_dtypes.float8_e5m2), np.array([1, 2, 3]).astype(snp.dtype(other))

    def run(x, y):
        products = [f(x, y, preferred_element_type="float32") for f in (snp.dot, snp.matmul, snp.vdot, snp.inner)]
        products += [snp.tensordot(x, y, 1, preferred_element_type="float32")]
        products += [snp.vecdot(x, y, preferred_element_type="float32")]
        products += [snp.einsum("i,i", x, y, preferred_element_type="float32")]
        if other in ("float8_e4m3fn", "float32"):
            products.append(lax.dot(x, y, preferred_element_type="float32"))
        return products

    for found in (run(snp.asarray(x), snp.asarray(y)), stagec.jit(run)(x, y)):
        assert {(float(f), str(f.dtype)) for f in found} == {(8.5, "float32")}
    with pytest.raises(errors.DtypeError, match="no common dtype"):
        snp.dot(x, y)
    slope = stagec.grad(lambda x: snp.dot(x, snp.asarray(y), preferred_element_type="float32"))(snp.asarray(x))
    assert (slope.tolist(), slope.dtype) == ([1, 2, 3], x.dtype)


def test_derivatives_and_batches():
    x = snp.array([0.5, 1.5, 3.0], dtype="float8_e4m3fn")
    for how in (lambda f: f, stagec.jit):
        gradient = how(stagec.grad(lambda x: snp.sum(snp.sin(x) * x).astype("float32")))(x)
        assert gradient.dtype == x.dtype
        v = np.asarray(x).astype("float32")
        np.testing.assert_allclose(np.asarray(gradient).astype("float32"), np.cos(v) * v + np.sin(v), rtol=0.1)
        through = how(stagec.grad(lambda y: snp.sum(y.astype("float8_e5m2").astype("float32") * 3)))(snp.ones(2))
        assert (through.dtype, through.tolist()) == (np.float32, [3, 3])
        assert how(stagec.vmap(lambda a: a * a + 1))(x).tolist() == [1.25, 3.25, 10]
        again = how(stagec.grad(stagec.checkpoint(lambda x: snp.sum(x * x).astype("float32"))))(x)
        assert again.tolist() == [1, 3, 6]
        carry, rows = how(lambda x: lax.scan(lambda c, y: (c + y, c * y), x[0], x))(x)
        assert (carry.tolist(), rows.tolist()) == (5.5, [0.25, 1.5, 7.5])


@pytest.mark.parametrize("name", ["float8_e4m3fn", "uint2", "uint4"])
def test_choices_and_loops_carry_them(name):
    def run(x):
        chosen = lax.cond(x[0] > 0, lambda x: x + 1, lambda x: x[::-1], x)
        return chosen, lax.while_loop(lambda x: snp.all(x < 2), lambda x: x + 1, x)

    x = snp.array([1, 0, 1], dtype=name)
    for found in (*run(x), *stagec.jit(run)(x)):
        assert (found.tolist(), found.dtype) == ([2, 1, 2], x.dtype)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "int4"])
def test_callbacks_take_and_return_them(name, capsys):
    x = snp.array([1, 2, 3], dtype=name)
    result = stagec.ShapeDtypeStruct((3,), name)

    def run(x):
        stagec.debug.print("{} {}", x, x.dtype)
        return stagec.pure_callback(lambda v: (np.asarray(v).astype("float32") * 2).astype(v.dtype), result, x) + 1

    for how in (run, stagec.jit(run)):
        found = how(x)
        assert (found.dtype, found.tolist()) == (x.dtype, [3, 5, 7])
    assert capsys.readouterr().out == f"[1 2 3] {name}\n" * 2


def test_bits_are_reinterpreted():
    numbers = every("float8_e4m3fn")
    for how in (lambda f: f, stagec.jit):
        same(how(lambda x: lax.bitcast_convert_type(x, "uint8"))(snp.asarray(numbers)), numbers.view("uint8"))
        same(how(lambda x: lax.bitcast_convert_type(x, numbers.dtype))(numbers.view("uint8")), numbers)
        signed = how(lambda x: lax.bitcast_convert_type(x, "int4"))(every("uint4"))
        assert np.asarray(signed).astype(int).tolist() == [*range(8), *range(-8, 0)]
        with pytest.raises(errors.DtypeError, match="bitcast_convert_type does not accept uint4"):
            how(lambda x: lax.bitcast_convert_type(x, "uint8"))(every("uint4"))


@pytest.mark.parametrize("name", ["float8_e5m2", "int4", "uint4"])
def test_elements_are_moved(name):
    x = np.arange(12).reshape(3, 4).astype(getattr(ml_dtypes, name))

    def run(x, i):
        rows = lax.fori_loop(0, 2, lambda k, c: c.at[k].set(x[i]), x)
        chosen = lax.cond(i > 0, lambda: x.T, lambda: snp.flip(x.T, 0))
        y = snp.concatenate([x[:, ::-1], rows], 1).reshape(2, 12)
        taken = snp.take(x, i + np.array([-2, 0]), axis=0)
        filled = snp.where(x.astype("float32") > 3, x, 1)
        return y, chosen, filled, snp.pad(x, 1), stagec.vmap(lambda v: v[1])(x), taken

    def expected(x):
        rows = np.stack([x[2], x[2], x[2]])
        y = np.concatenate([x[:, ::-1], rows], 1).reshape(2, 12)
        one = np.asarray(1).astype(x.dtype)
        padded = np.zeros((5, 6), x.dtype)
        padded[1:4, 1:5] = x
        return y, x.T, np.where(x.astype("float32") > 3, x, one), padded, x[:, 1], x[[0, 2]]

    for found in (run(snp.asarray(x), 2), stagec.jit(run)(x, 2)):
        for f, e in zip(found, expected(x), strict=True):
            same(f, e)


def test_a_constant_of_a_program_and_creation():
    weights = snp.array([0.5, 1.25, 300.0], dtype="float8_e4m3fn")
    assert weights.tolist() == [0.5, 1.25, 288.0] and weights.nbytes == 3
    f = stagec.jit(lambda x: x * weights.astype("float32"))
    assert f(snp.ones(3)).tolist() == [0.5, 1.25, 288.0]
    made = stagec.jit(lambda: (snp.zeros(2, "int4"), snp.full((2,), 3, "float8_e5m2")))()
    assert [m.astype("float32").tolist() for m in made] == [[0, 0], [3, 3]]


def test_files_hold_them(tmp_path):
    weights = snp.arange(6).astype("float8_e4m3fn").reshape(2, 3)
    f = stagec.jit(lambda x, w: (x @ w.astype("float32"), w.T))
    stagec.export(f)(stagec.ShapeDtypeStruct((2,), "float32"), weights).save(tmp_path / "f.stagec")
    product, moved = stagec.load(tmp_path / "f.stagec")(np.ones(2, np.float32), weights)
    assert product.tolist() == [3, 5, 7]
    same(moved, np.asarray(weights).T)


def test_promotion_is_jaxs():
    assert snp.promote_types("float8_e5m2", "float8_e5m2") == dtypes.canonicalize_dtype("float8_e5m2")
    assert snp.result_type(snp.zeros(1, "float8_e5m2"), 1.5) == snp.dtype("float8_e5m2")
    assert snp.result_type(snp.zeros(1, "int4"), 1) == snp.dtype("int4")
    for a, b in (("float8_e5m2", "float32"), ("float8_e5m2", "float8_e4m3fn"), ("int4", "int8"), ("int4", "uint4")):
        with pytest.raises(errors.DtypeError, match="no common dtype"):
            snp.promote_types(a, b)
    with pytest.raises(errors.DtypeError, match="no common dtype"):
        snp.result_type(snp.zeros(1, "int4"), 1.5)


def test_limits():
    assert snp.finfo("float8_e4m3fn").max == 448 and snp.finfo(snp.float8_e5m2).eps == 0.25
    assert (snp.iinfo("int4").min, snp.iinfo(snp.uint4).max) == (-8, 15)
    assert snp.issubdtype("float8_e5m2", np.floating) and snp.issubdtype("int4", np.signedinteger)
    assert not snp.issubdtype("uint4", np.signedinteger)


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("name", ["float8_e4m3fn", "uint4"])
def test_what_is_not_there_says_so(name, how):
    x = snp.arange(3).astype(name)
    for f in (
        lambda x: lax.nextafter(x, x),
        lambda x: snp.linalg.inv(snp.diag(x)) if name.startswith("float") else lax.clz(x),
    ):
        with pytest.raises(errors.DtypeError, match=rf"does not accept {name}(.|\n)*convert"):
            (stagec.jit(f) if how == "compiled" else f)(x)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e3m4"])
def test_random_numbers_are_jaxs(name):
    jax = pytest.importorskip("jax")
    for draw in ("uniform", "normal", "exponential"):
        expected = np.asarray(getattr(jax.random, draw)(jax.random.key(1), (20,), name))
        same(getattr(random, draw)(random.key(1), (20,), name), expected)
    with pytest.raises(errors.DtypeError, match="uniform: dtype must be a floating-point dtype, got float4_e2m1fn"):
        random.uniform(random.key(1), (2,), "float4_e2m1fn")


def test_files_of_numpy_are_refused():
    with pytest.raises(errors.DtypeError, match=r"savez's w: NumPy's formats have no name for int4(.|\n)*view"):
        snp.savez("never written", w=snp.zeros(2, "int4"))


def test_parts_of_numbers():
    x = snp.array([0.75, -3.0, 0.0], dtype="float8_e5m2")
    part, exponent = snp.frexp(x)
    assert (part.dtype, part.tolist(), exponent.tolist()) == (x.dtype, [0.75, -0.75, 0], [0, 2, 0])
    assert snp.ldexp(x, 2).tolist() == [3, -12, 0]
    assert snp.signbit(snp.array([1, -2, 0], dtype="float4_e2m1fn")).tolist() == [False, True, False]


def test_a_number_that_does_not_fit_is_refused():
    with pytest.raises(OverflowError, match="Python integer 9 does not fit int4"):
        snp.zeros(2, "int4") + 9


def test_reads_out_of_range_are_filled():
    for name, fill in (("int4", -8), ("uint4", 15), ("uint2", 3), ("float8_e5m2", np.nan)):
        x = snp.zeros(2, name)
        for read in (lambda x: x.at[5].get(mode="fill"), stagec.jit(lambda x: x.at[5].get(mode="fill"))):
            np.testing.assert_array_equal(np.asarray(read(x).astype("float32")), fill)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float4_e2m1fn", "int4"])
def test_a_vulkan_device_computes_the_same(vulkan, name):
    x = snp.asarray(every(name))

    def run(x):
        return x * x + 1, x.astype("float32"), x < x[::-1]

    for found, expected in zip(stagec.jit(run)(stagec.device_put(x, vulkan)), run(x), strict=True):
        same(found, expected)
