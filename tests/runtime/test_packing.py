"""Matrices that a function closes over are packed once, for each layout that products read them in."""

import gc
import weakref

import ml_dtypes  # noqa: F401  (names bfloat16)
import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.backends import Target
from stagec.compiler import log
from stagec.core.errors import DonationError
from stagec.runtime import runnable
from stagec.runtime.packing import Packing

MATRIX_UNIT = "cpu:x86-64-v4+amx-bf16+amx-int8+amx-tile"
PAIRS = "cpu:x86-64-v4+avx512bf16+avx512vnni"


def sample(shape, dtype, seed=0):
    numbers = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return numbers.integers(0, 100, shape).astype(dtype)
    return numbers.normal(size=shape).astype(dtype)


@pytest.fixture
def made(monkeypatch):
    """The layouts that were packed, in their order."""
    seen, of = [], Packing.of
    monkeypatch.setattr(Packing, "of", lambda self, array: seen.append(self) or of(self, array))
    return seen


# The program, the shapes of what is passed and of what is closed over.
PROGRAMS = {
    "right": (lambda m, x, w: m.matmul(x, w), (70, 130), (130, 300)),
    "right, transposed": (lambda m, x, w: m.matmul(x, w.T), (70, 130), (300, 130)),
    "left": (lambda m, x, w: m.matmul(w.T, x), (130, 300), (130, 90)),
    "few rows": (lambda m, x, w: m.matmul(x, w), (15, 130), (130, 300)),
    "both": (lambda m, x, w: m.matmul(m.matmul(w.T, x), w[:, :90].T), (130, 90), (130, 300)),
    "heads": (lambda m, x, w: m.matmul(x, w.reshape(130, 300)), (70, 130), (130, 3, 100)),
    "batch": (lambda m, x, w: m.matmul(x, w), (3, 70, 65), (3, 65, 300)),
}


@pytest.mark.parametrize(
    ("dtype", "target"),
    [
        *((name, "cpu") for name in ("float32", "float64", "bfloat16", "float16", "int32", "int8", "uint8")),
        *((name, PAIRS) for name in ("bfloat16", "int8")),
    ],
)
def test_packed_matrices_give_the_results_of_those_that_are_passed(dtype, target, made):
    if Target.parse(target).missing_here():
        pytest.skip(f"no {target} here")
    pairs = [(sample(x, dtype), sample(w, dtype, 1)) for _, x, w in PROGRAMS.values()]

    def all_of(m, pairs):
        return [f(m, x, w) for (f, _, _), (x, w) in zip(PROGRAMS.values(), pairs, strict=True)]

    with stagec.config.override(enable_x64=True):
        captured = stagec.jit(
            lambda xs: all_of(snp, [(x, w) for x, (_, w) in zip(xs, pairs, strict=True)]), target=target
        )
        results = captured([x for x, _ in pairs])
    assert len(made) >= len(PROGRAMS) - 2
    wide = np.float64 if np.dtype(dtype).kind not in "iu" else np.int64
    for name, found, wanted in zip(PROGRAMS, results, all_of(np, [(x.astype(wide), w.astype(wide)) for x, w in pairs])):
        if wide is np.int64:
            np.testing.assert_array_equal(np.asarray(found), wanted.astype(dtype), err_msg=name)
            continue
        close = {"float32": 2e-6, "float64": 1e-14}.get(dtype, 2e-2) * np.abs(wanted).max()
        np.testing.assert_allclose(np.asarray(found).astype(np.float64), wanted, rtol=0, atol=close, err_msg=name)


@pytest.mark.parametrize("target", ["cpu:x86-64-v3", "cpu:x86-64-v4", MATRIX_UNIT])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_no_call_packs_what_is_closed_over(target, dtype):
    w, x = sample((256, 700), dtype), sample((100, 256), dtype)
    f = stagec.jit(lambda x: x @ w, target=target).lower(x).as_text("kernels")
    g = stagec.jit(lambda x, w: x @ w, target=target).lower(x, w).as_text("kernels")
    # The left operand is none of the weights.
    rows = int(dtype == "bfloat16" or (dtype, target) == ("int8", MATRIX_UNIT))
    assert f.count("flow.dispatch @pack") == rows and g.count("flow.dispatch @pack") == 1 + rows


def test_a_matrix_is_packed_at_the_first_call_only(made):
    w, x = sample((256, 384), "float32"), sample((100, 256), "float32")
    f = stagec.jit(lambda x: x @ w)
    first = np.asarray(f(x))
    for _ in range(3):
        assert np.asarray(f(x)).tobytes() == first.tobytes()
    assert len(made) == 1
    # Vectors read rows as they are.
    np.testing.assert_allclose(f(x[0]), first[0], rtol=0, atol=1e-4)
    assert len(made) == 1


def test_what_two_products_read_alike_is_packed_once(made):
    w, x = snp.asarray(sample((300, 300), "float32")), sample((100, 300), "float32")
    found = stagec.jit(lambda x: (x @ w) @ w + (x @ w.T))(x)
    exact, wide = x.astype(np.float64), np.asarray(w).astype(np.float64)
    np.testing.assert_allclose(found, exact @ wide @ wide + exact @ wide.T, rtol=0, atol=1e-2)
    assert [p.strides for p in made] == [(300, 1), (1, 300)]


def test_signatures_share_what_they_read_alike(made):
    w = snp.asarray(sample((300, 300), "float32"))
    f = stagec.jit(lambda x: x @ w)
    # Of as many columns in a register tile.
    for rows in (100, 114, 142):
        x = sample((rows, 300), "float32")
        np.testing.assert_allclose(f(x), x.astype(np.float64) @ np.asarray(w), rtol=0, atol=1e-3)
    assert len(made) == 1


def test_other_weights_of_the_same_shape_use_the_same_program():
    x = sample((100, 256), "float32")
    programs = []

    def layer(w):
        return stagec.jit(lambda x: x @ w)

    for seed in range(2):
        w = sample((256, 384), "float32", seed)
        log.clear()
        found = layer(w)(x)
        programs.append(len(log.records("compile")))
        np.testing.assert_allclose(found, x.astype(np.float64) @ w, rtol=0, atol=1e-3)
    assert programs[1] == 0
    # One that is an argument may be another one at the next call.
    w = sample((256, 384), "float32", 5)
    g = stagec.jit(lambda x, w: x @ w)
    np.testing.assert_allclose(g(x, w), x.astype(np.float64) @ w, rtol=0, atol=1e-3)
    np.testing.assert_allclose(g(x, -w), -x.astype(np.float64) @ w, rtol=0, atol=1e-3)


def test_a_program_from_the_disk_packs_as_well(made):
    w, x = sample((256, 384), "float32", 3), sample((101, 256), "float32")
    first = np.asarray(stagec.jit(lambda x: x @ w)(x))
    stagec.clear_caches()
    log.clear()
    again = np.asarray(stagec.jit(lambda x: x @ w)(x))
    assert log.records("compile") == [] and len(made) == 2
    assert again.tobytes() == first.tobytes()


def test_copies_take_no_more_memory_than_an_option_says(made):
    w, v = (snp.asarray(sample((256, 384), "float32", seed)) for seed in range(2))
    x = sample((100, 256), "float32")
    f = stagec.jit(lambda x: x @ w + x @ v)
    room = 256 * 384 * 4
    for bytes_, copies in ((room - 1, 0), (room, 1), (2 * room, 2)):
        with stagec.config.override(packed_copy_bytes=bytes_):
            found = np.asarray(f(x))
        assert len(made) == copies
        wanted = x.astype(np.float64) @ (np.asarray(w).astype(np.float64) + np.asarray(v))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-3)


def test_packed_copies_go_with_the_function():
    w, x = sample((256, 384), "float32"), sample((100, 256), "float32")
    f = stagec.jit(lambda x: x @ w)
    f(x)
    (copy,) = [weakref.ref(a) for r in gc.get_objects() if type(r) is runnable.Runnable for a in r._packed.values()]
    assert copy() is not None
    del f
    gc.collect()
    assert copy() is None


def test_a_closed_over_matrix_that_is_deleted_is_missed_still():
    w, x = snp.asarray(sample((256, 384), "float32")), sample((100, 256), "float32")
    f = stagec.jit(lambda x: x @ w)
    f(x)
    w.delete()
    with pytest.raises(DonationError):
        f(x)


def test_a_matrix_of_a_loop_is_packed_before_it(made):
    w, x = sample((400, 400), "float32") / 20, sample((100, 400), "float32")
    f = stagec.jit(lambda x: lax.fori_loop(0, 3, lambda _, x: snp.tanh(x @ w), x))
    wanted = x.astype(np.float64)
    for _ in range(3):
        wanted = np.tanh(wanted @ w)
    np.testing.assert_allclose(f(x), wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "group"),
    [
        *((dtype, 0) for dtype in ("float32", "bfloat16", "int8")),
        ("bfloat16", 2),
        ("int8", 2),
        ("uint8", 2),
        ("int8", 4),
    ],
)
@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_a_copy_has_each_element_in_its_place(dtype, group, lines, turned):
    """Read back by the definition of the order, which is not how it is made."""
    depth, extent, width = 37, 41, 32
    matrix = sample((2, depth, extent), dtype)
    array = np.ascontiguousarray(matrix.swapaxes(1, 2)) if turned else matrix
    strides = (depth * extent, *((1, depth) if turned else (extent, 1)))
    each = group or 1
    length, count = -(-depth // (each * 16)) * 16 if group else depth, -(-extent // width)
    found = {"int8": "i32", "uint8": "i32"}.get(dtype, "f32")
    packing = Packing(
        0, "i32" if group else found, (2, depth, extent), strides, width, group, lines and bool(group),
        2 * count * width * length,
    )  # fmt: skip
    # Integers are widened to what a group has room for.
    wide = {4: array.dtype, 2: np.dtype("int16" if array.dtype.itemsize == 1 else dtype), 0: packing.aval.dtype}[group]
    copy = packing.of(array).view(wide)
    assert copy.ctypes.data % 64 == 0
    wanted = np.zeros_like(copy)
    for b, k, n in np.ndindex(2, depth, extent):
        panel, column, start = n // width, n % width, b * count * width * length
        row, rest = k // each, k % each
        place = n * length + row if packing.lines else (panel * length + row) * width + column
        wanted[(start + place) * each + rest] = matrix[b, k, n].astype(wide)
    assert copy.tobytes() == wanted.tobytes()
