"""What runs outside `jit`: NumPy's evaluation, or a compiled program."""

import contextlib
import inspect
import os

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax, random
from stagec.core.primitive import Primitive

FUZZ = int(os.environ.get("STAGEC_FUZZ", "1")) > 1
SMALL, LARGE = np.linspace(0.1, 0.9, 8, dtype=np.float32), np.linspace(0.1, 0.9, 1 << 20, dtype=np.float32)


def long_loop(x):
    return lax.fori_loop(0, 1000, lambda i, c: snp.sin(c) + 1, x)


def open_ended(x):
    return lax.while_loop(lambda c: c.sum() < 100, lambda c: c * 1.5, x)


jitted = stagec.jit(lambda x: (snp.tanh(x) * x).sum())
KEY = random.key(0)
SQUARE = snp.asarray(LARGE[:4096].reshape(64, 64)) + 9 * snp.eye(64)
BYTES, HALVES = SQUARE.astype("int8"), SQUARE.astype("bfloat16")
MANY_BYTES, COMPLEX = snp.asarray((99 * LARGE[:9999]).astype("int8")), snp.asarray(LARGE[:999].astype("complex64"))
# What is called, and how many programs that takes.
CALLS = {
    "one cheap operation": (lambda x, y: x + 1, 0),
    "one cheap operation on a large array": (lambda x, y: y + y, 0),
    "a function of a large array": (lambda x, y: snp.exp(y), 1),
    "an outer product that is large": (lambda x, y: snp.outer(y[:600], y[:600]), 1),
    "a reduction of a large array": (lambda x, y: snp.sum(y), 1),
    "a product of matrices, and its transform": (lambda x, y: snp.fft.fft(y[:4096].reshape(64, 64) @ SQUARE), 0),
    "a large product": (lambda x, y: snp.zeros((800, 700)) @ snp.ones((700, 800)), 1),
    "a product of floats": (lambda x, y: SQUARE @ SQUARE, 0),
    "a product of integers": (lambda x, y: BYTES @ BYTES, 1),
    "a product of 16-bit numbers": (lambda x, y: HALVES @ HALVES, 1),
    "a small product of integers": (lambda x, y: BYTES[:9] @ BYTES[0], 0),
    "few elements written into a large array": (lambda x, y: y.at[snp.argsort(x)].add(x), 0),
    "many elements written": (lambda x, y: y.at[snp.arange(30_000)].add(y[:30_000]), 1),
    "few short rows": (lambda x, y: snp.diff(y[:3000].reshape(1000, 3)), 0),
    "many short rows": (lambda x, y: snp.diff(y[:30_000].reshape(10_000, 3)), 1),
    "the order of short rows": (lambda x, y: snp.sort(y[:30_000].reshape(10_000, 3)), 1),
    "the order of short columns": (lambda x, y: snp.sort(y[:30_000].reshape(3, 10_000), 0), 1),
    "the order of rows": (lambda x, y: snp.sort(y[:30_000].reshape(300, 100)), 0),
    "the order of many numbers": (lambda x, y: snp.sort(y[:10_000]), 1),
    "the order of many bytes": (lambda x, y: snp.sort(MANY_BYTES), 0),
    "the order of complex numbers": (lambda x, y: snp.sort(COMPLEX), 1),
    "short rows one by one": (lambda x, y: y[:30_000].reshape(10_000, 3) * 2, 0),
    "a factorization": (lambda x, y: snp.linalg.inv(SQUARE), 0),
    "a factorization that NumPy lacks": (lambda x, y: stagec.lax.linalg.hessenberg(SQUARE), 1),
    "the largest of a small array": (lambda x, y: lax.top_k(y[:1000], 3), 0),
    "the largest of a large array": (lambda x, y: lax.top_k(y, 3), 1),
    "a convolution of small arrays": (lambda x, y: snp.convolve(x, x), 1),
    "numbers in order": (lambda x, y: snp.arange(1000), 0),
    "many numbers in order": (lambda x, y: snp.arange(1 << 20), 1),
    "many positions, twice": (lambda x, y: snp.diag_indices(1 << 20), 1),
    "a running sum": (lambda x, y: snp.cumsum(y), 1),
    "a function that NumPy computes one by one": (lambda x, y: snp.arccosh(1 + y), 1),
    "a special function of a small array": (lambda x, y: stagec.scipy.special.erf(x), 0),
    "a special function whose evaluation begins with much": (lambda x, y: stagec.scipy.special.i0e(x), 1),
    "a composed function of a small array": (lambda x, y: stagec.nn.softmax(x), 0),
    "a composed function of a large array": (lambda x, y: snp.hypot(y, y), 1),
    "a special function of a large array": (lambda x, y: stagec.scipy.special.erfinv(y), 1),
    "a sum of a large array in a dtype without instructions": (lambda x, y: snp.zeros(1 << 20, "float16") + 1, 1),
    "a short loop": (lambda x, y: lax.fori_loop(0, 3, lambda i, c: c * 2, x), 0),
    "a short loop of stagec's own": (lambda x, y: snp.poly(x[:1]), 1),
    "a long loop": (lambda x, y: long_loop(x), 1),
    "a loop whose number of rounds is not known": (lambda x, y: open_ended(x), 1),
    "a branch": (lambda x, y: lax.cond(x[0] > 0, lambda c: c + 1, lambda c: c - 1, x), 0),
    "a branch with a long loop": (lambda x, y: lax.cond(x[0] > 0, long_loop, lambda c: c, x), 1),
    "a scan": (lambda x, y: lax.scan(lambda c, v: (c + v, c), 0.0, y), 1),
    "a batch of calls of a jitted function": (lambda x, y: stagec.vmap(jitted)(x.reshape(4, 2)), 1),
    "the tangent of a jitted function": (lambda x, y: stagec.jvp(jitted, (x,), (x,)), 1),
    "the derivative of a jitted function": (lambda x, y: stagec.grad(jitted)(x), 2),
    "normal numbers": (lambda x, y: random.normal(KEY, (3,)), 1),
    "uniform numbers": (lambda x, y: random.uniform(KEY, (3,)), 0),
    "random bits": (lambda x, y: random.bits(KEY, (3,)), 0),
    "many random bits": (lambda x, y: random.bits(KEY, (100,)), 1),
    "random integers": (lambda x, y: random.randint(KEY, (3,), 0, 9), 1),
    "keys": (lambda x, y: random.key_data(random.split(KEY)), 0),
    "a function of the user's": (lambda x, y: stagec.pure_callback(np.sin, x, x), 0),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_rule_decides_what_is_compiled(name, compiles):
    function, programs = CALLS[name]
    x, y = snp.asarray(SMALL), snp.asarray(LARGE)
    stagec.clear_caches()
    results = []
    with compiles() as made:
        for _ in range(3):
            results.append(stagec.tree.leaves(function(x, y)))
    assert len(made) == programs
    for later in results[1:]:
        for a, b in zip(results[0], later, strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_loops_whose_functions_are_new_at_each_call_share_a_program(compiles):
    weights = snp.ones((4, 4)) / 4
    lax.fori_loop(0, 1000, lambda i, c: weights @ c, snp.ones(4))
    with compiles() as made:
        for start in range(3):
            lax.fori_loop(0, 1000, lambda i, c: weights @ c, snp.ones(4) + start)
    assert made == []


@pytest.mark.parametrize("wrong", ["debug_nans", "disable_jit"])
def test_options_that_look_at_operations_keep_programs_away(wrong, compiles):
    stagec.clear_caches()
    with compiles() as made, getattr(stagec, wrong)(True):
        stagec.scipy.special.erfinv(snp.asarray(LARGE[:4000]))
        lax.fori_loop(0, 300, lambda i, c: c + 1, 0)
    assert made == []


def test_a_program_has_the_values_of_numpy_and_of_jit():
    x = snp.asarray(SMALL)
    batch = x.reshape(4, 2)
    for function, given in [(long_loop, x), (open_ended, x), (stagec.vmap(jitted), batch), (stagec.grad(jitted), x)]:
        found, inside = function(given), stagec.jit(function)(given)
        np.testing.assert_allclose(found, inside, rtol=2e-6)
        assert found.aval == inside.aval


def test_results_keep_weak_types_and_devices():
    total = lax.fori_loop(0, 5000, lambda i, c: c + 1, 0)
    assert total == 5000 and total.weak_type
    x = stagec.device_put(snp.asarray(SMALL), "cpu")
    assert long_loop(x).committed


def test_a_plan_of_a_function_with_numbers_takes_other_numbers():
    x = snp.asarray(LARGE)
    for number in (2, 3.5, -1):
        np.testing.assert_allclose(snp.logaddexp(x, number), np.logaddexp(LARGE, np.float32(number)), rtol=1e-5)


def test_floats_are_operands_of_programs(compiles):
    x = snp.asarray(LARGE)
    random.uniform(KEY, (3,), minval=-1.5), snp.linspace(0.5, 2.5, 1 << 20), stagec.nn.elu(x, 0.5)
    with compiles() as made:
        for number in (2.25, -0.0, 7.5):
            found = random.uniform(KEY, (3,), minval=number, maxval=9.0)
            assert number <= float(found.min()) and float(found.max()) < 9
            ends = snp.linspace(number, 9.5, 1 << 20)
            assert (float(ends[0]), float(ends[-1])) == (number, 9.5)
            np.testing.assert_allclose(stagec.nn.elu(-x, number), number * np.expm1(-LARGE), rtol=2e-6)
    assert len(made) <= 1  # `uniform` with both bounds


# Floats of each distribution, by what it takes after the key.
DRAWS = {
    "ball": (2, 2, (3,)),
    "beta": (0.5, 2.0, (3,)),
    "cauchy": ((3,),),
    "chisquare": (2.0, (3,)),
    "dirichlet": (np.ones(3, np.float32), (2,)),
    "double_sided_maxwell": (0.0, 1.0, (3,)),
    "exponential": ((3,),),
    "f": (2.0, 3.0, (3,)),
    "gamma": (0.7, (3,)),
    "generalized_normal": (1.5, (3,)),
    "gumbel": ((3,),),
    "laplace": ((3,),),
    "loggamma": (0.7, (3,)),
    "logistic": ((3,),),
    "lognormal": (0.5, (3,)),
    "maxwell": ((3,),),
    "multinomial": (5.0, np.full(4, 0.25, np.float32)),
    "multivariate_normal": (np.zeros(2, np.float32), np.eye(2, dtype=np.float32), (3,)),
    "normal": ((3,),),
    "orthogonal": (2, (3,)),
    "pareto": (2.0, (3,)),
    "rayleigh": (2.0, (3,)),
    "t": (2.0, (3,)),
    "triangular": (-1.0, 0.2, 2.0, (3,)),
    "truncated_normal": (-1.0, 2.0, (3,)),
    "uniform": ((30,),),
    "wald": (0.7, (3,)),
    "weibull_min": (2.0, 1.5, (3,)),
}
OF_OTHERS = {
    "bernoulli": (0.3, (9,)),
    "binomial": (10.0, 0.3, (9,)),
    "bits": ((3,),),
    "categorical": (np.linspace(-1, 1, 5, dtype=np.float32), -1, (9,)),
    "choice": (5, (9,)),
    "geometric": (0.3, (9,)),
    "permutation": (9,),
    "poisson": (3.0, (9,)),
    "rademacher": ((9,),),
    "randint": ((9,), -3, 100),
}
KEYS = "PRNGKey clone fold_in key key_data key_dtype key_impl split wrap_key_data".split()


def test_each_distribution_is_drawn_here():
    functions = {name for name in dir(random) if callable(getattr(random, name)) and name != "PRNGKeyArray"}
    assert functions == {*DRAWS, *OF_OTHERS, *KEYS}


def same_bits(function, *args):
    static = tuple(i + 1 for i, a in enumerate(args) if not isinstance(a, (float, np.ndarray)))
    outside = np.asarray(function(KEY, *args))
    inside = np.asarray(stagec.jit(function, static_argnums=static)(KEY, *args))
    assert outside.dtype == inside.dtype
    np.testing.assert_array_equal(outside.view(np.uint8), inside.view(np.uint8))


def with_floats():
    """Functions and the floats that they draw: float32 and, outside of hunts, one of the others."""
    for i, name in enumerate(DRAWS):
        others = ["float64", "float16", "bfloat16"]
        if name in ("orthogonal", "multivariate_normal"):  # matrices of the other dtypes are not factorized
            others = ["float64"]
        yield from ((name, dtype) for dtype in ["float32", *(others if FUZZ else [others[i % len(others)]])])


@pytest.mark.parametrize(("name", "dtype"), [*with_floats()])
def test_random_floats_have_the_same_bits_outside_jit_and_inside(name, dtype):
    with stagec.enable_x64(dtype == "float64"):
        same_bits(lambda key, *a: getattr(random, name)(key, *a, dtype=dtype), *DRAWS[name])


SHARED = [
    *((name, dtype) for name in DRAWS if len(DRAWS[name]) == 1 for dtype in ("float32", "float16")),
    *[("bits", "uint16"), ("bits", "uint32"), ("rademacher", "int32")],
]


@pytest.mark.parametrize(("name", "dtype"), [row for row in SHARED if row[0] != "maxwell"])
def test_small_draws_share_a_program_and_have_the_same_bits(name, dtype, compiles):
    draw = getattr(random, name)
    draw(KEY, (16,), dtype), draw(KEY, (32,), dtype)
    shapes = [(), (1,), (3,), (2, 5), (16,), (2, 1, 9)]
    with compiles() as made:
        outside = [draw(KEY, shape, dtype) for shape in shapes]
    assert made == []
    inside = stagec.jit(lambda key: [draw(key, shape, dtype) for shape in shapes])(KEY)
    for a, b in zip(outside, inside, strict=True):
        assert a.aval == b.aval
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("name", OF_OTHERS)
def test_other_random_values_are_the_same_outside_jit_and_inside(name):
    same_bits(getattr(random, name), *OF_OTHERS[name])


def with_dtypes():
    """Functions and the dtypes beyond those above that they draw."""
    for i, name in enumerate(sorted({*DRAWS, *OF_OTHERS})):
        draw, args = getattr(random, name), {**DRAWS, **OF_OTHERS}[name]
        if "dtype" not in inspect.signature(draw).parameters:
            continue
        found = []
        for dtype in "bool int8 int16 int64 uint8 uint16 uint32 uint64 complex64 complex128".split():
            with stagec.enable_x64(True), contextlib.suppress(stagec.errors.DtypeError):
                stagec.eval_shape(lambda key: draw(key, *args, dtype=dtype), KEY)  # noqa: B023
                found.append(dtype)
        # Outside of hunts one of three, other ones for other functions.
        yield from ((name, dtype) for dtype in (found if FUZZ else found[i % min(3, len(found) or 1) :: 3]))


@pytest.mark.parametrize(("name", "dtype"), [*with_dtypes()])
def test_random_values_of_other_dtypes_have_the_same_bits(name, dtype):
    with stagec.enable_x64(dtype.endswith(("64", "128")) and dtype != "complex64"):
        same_bits(lambda key, *a: getattr(random, name)(key, *a, dtype=dtype), *{**DRAWS, **OF_OTHERS}[name])


@pytest.mark.parametrize("name", KEYS)
def test_keys_have_the_same_bits(name):
    def words(key):
        data = random.key_data(key)
        of = {
            "PRNGKey": lambda: random.PRNGKey(7),
            "key": lambda: random.key(7),
            "fold_in": lambda: random.fold_in(key, 3),
            "split": lambda: random.split(key, 5),
            "wrap_key_data": lambda: random.wrap_key_data(data),
            "clone": lambda: random.clone(key),
        }
        return random.key_data(of[name]() if name in of else key)

    same_bits(words)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bounds", [(-3.0, 2.0), (0.1, 0.7), (5.0, 1e6)])
def test_uniform_numbers_between_bounds_have_the_same_bits(dtype, bounds):
    with stagec.enable_x64(dtype == "float64"):
        same_bits(lambda key: random.uniform(key, (300,), dtype, *bounds))


def test_every_primitive_has_an_estimate_of_numpys_time():
    for primitive in Primitive.registry.values():
        real, complex_ = primitive.numpy_ns
        assert 0 <= real <= 1e4 and 0 <= complex_ <= 1e5, primitive
