"""What is put together of parts, in straight-line kernels: in vectors, however short one of the parts is."""

import numpy as np
import pytest
from guarded import guarded

import stagec
import stagec.numpy as snp
from passes.kernels.elements import RefusedError
from passes.kernels.straight.writing import Writing
from stagec.compiler import log

# The sizes of parts along the last axis: shorter than any vector, than some, and longer.
PARTS = [(1, 70), (70, 1), (1, 37, 2), (3, 5), (5, 16, 7, 1), (2000, 1, 300)]


def rolled(x):
    return x + snp.roll(x, 1, -1) + snp.roll(x, -2, 0)


@pytest.mark.parametrize("shape", [(90, 40), (3, 5, 33), (50_000,), (400_003,)])
def test_a_short_part_leaves_the_others_in_vectors(shape):
    text = stagec.jit(rolled, target="cpu:x86-64-v3").lower(snp.ones(shape)).as_text("kernels")
    assert "vector.load" in text and "vector<8xf32>" in text
    x = np.random.default_rng(0).random(shape, np.float32)
    expected = x + np.roll(x, 1, -1) + np.roll(x, -2, 0)
    np.testing.assert_array_equal(np.asarray(stagec.jit(rolled)(x)), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool", "complex64"])
def test_parts_of_any_length_are_put_together(dtype):
    rng = np.random.default_rng(0)
    cases = [
        [(rng.integers(-9, 9, (*rows, n)) % 5).astype(dtype) for n in sizes]
        for sizes in PARTS
        for rows in ((), (3,), (60,))
    ]

    def joined(xp, parts):
        whole = xp.concatenate(parts, -1)
        return whole, whole[..., ::-1] == whole, xp.pad(whole, 1)

    found = stagec.jit(lambda cases: [joined(snp, parts) for parts in cases])(cases)
    for parts, results in zip(cases, found):
        for actual, expected in zip(results, joined(np, parts)):
            np.testing.assert_array_equal(np.asarray(actual), expected)


def test_no_memory_is_read_or_written_outside_of_a_part():
    x = np.random.default_rng(0).random((9, 37), np.float32)
    expected = x + np.roll(x, 1, -1) + np.roll(x, -2, 0)
    np.testing.assert_array_equal(np.asarray(stagec.jit(rolled)(guarded(x))), expected)


def padded_twice(xp, x):
    """More pieces than a kernel has, of an array that is put together itself."""
    inner = xp.pad(xp.exp(x)[:1], [(1, 0)] + [(0, 0)] * (x.ndim - 1), constant_values=0.5)
    return [xp.pad(inner, 1)]


def rolled_often(xp, x):
    return [sum(xp.roll(x, n, axis) for n in (1, 3, 5, 7) for axis in (0, 1))]


def joined_often(xp, x):
    parts = [x[:, : n + 1] * n for n in range(19)] + [xp.ones_like(x)]
    return [xp.concatenate(parts, 1), xp.stack([part[:, 0] for part in parts]), xp.stack([x] * 20) + 1]


def interleaved(xp, x):
    pairs = xp.stack([x, -x], -1)
    return [pairs.reshape(-1) * 2, (pairs.reshape(len(x), -1) + 1)[:, 1:], xp.stack([x, x, x * 3], 1).reshape(-1) - 1]


@pytest.mark.parametrize(
    "function, shape",
    [
        (interleaved, (7, 3)),
        (interleaved, (90, 111)),
        (padded_twice, (2, 2, 2, 2, 2)),
        (rolled_often, (40, 50)),
        (joined_often, (3, 19)),
        (joined_often, (60, 3001)),
    ],
)
def test_what_is_put_together_of_many_parts_is_kernels(function, shape):
    x = np.random.default_rng(0).random(shape, np.float32)
    compiled = stagec.jit(lambda x: function(snp, x))
    assert "stays" not in compiled.lower(x).as_text("kernels")
    for actual, expected in zip(compiled(guarded(x)), function(np, x)):
        np.testing.assert_allclose(np.asarray(actual), expected, rtol=1e-5)


def kernels(lowered):
    return lowered.as_text("kernels").count("): a kernel of ")


def padded(xp, x):
    wide = xp.pad(x, 1)
    return x + wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]


def with_halos(xp, x):
    tall, wide = xp.concatenate([x[-1:], x, x[:1]]), xp.pad(x, ((0, 0), (1, 1)))
    return x + tall[:-2] + tall[2:] + wide[:, :-2] + wide[:, 2:]


@pytest.mark.parametrize("stencil", [padded, with_halos])
@pytest.mark.parametrize("shape", [(300, 200), (64, 1000)])
def test_joined_arrays_that_are_read_at_several_offsets_are_not_stored(stencil, shape):
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    compiled = stagec.jit(lambda x: stencil(snp, x)).lower(x)
    assert kernels(compiled) == 1
    np.testing.assert_array_equal(np.asarray(compiled.compile()(x)), stencil(np, x))


def test_a_joined_array_of_costly_parts_is_computed_once_for_several_readers():
    def f(x):
        wide = snp.pad(snp.exp(x), 1)
        return wide[:-2, 1:-1] + wide[2:, 1:-1]

    assert kernels(stagec.jit(f).lower(snp.ones((300, 200)))) == 2


@pytest.mark.parametrize(
    "reduced",
    [
        lambda xp, x: (x * x.T).sum(),
        lambda xp, x: (x * x.T).sum(0),
        lambda xp, x: (xp.exp(x) * x.T).max(1),
        lambda xp, x: ((x - 2 * x.T) ** 2).mean(),
        lambda xp, x: x.T.sum(),
    ],
)
def test_transposed_arrays_that_are_reduced_with_others_stay_in_kernels(reduced):
    x = np.random.default_rng(0).standard_normal((150, 150), np.float32)
    compiled = stagec.jit(lambda x: reduced(snp, x)).lower(x)
    assert "stays outside" not in compiled.as_text("kernels")
    np.testing.assert_allclose(compiled.compile()(x), reduced(np, x), rtol=1e-4, atol=1e-2)


def compiled_directly(lowered):
    """The compiled program, of which kernels are all."""
    log.clear()
    with stagec.config.override(enable_cache=False):
        compiled = lowered.compile()
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    return compiled


def sums_in_an_array(x):
    """A sum that stands in an array of as many elements, beside others over these."""
    e = snp.exp(x)
    return snp.pad(x.sum(keepdims=True), (0, x.size - 1)), e, e.sum()


def test_a_padded_sum_is_in_the_kernel_that_sums():
    x = np.arange(5.0, dtype=np.float32)
    padded, _, total = compiled_directly(stagec.jit(sums_in_an_array).lower(x))(x)
    np.testing.assert_array_equal(np.asarray(padded), [10, 0, 0, 0, 0])
    np.testing.assert_allclose(float(total), np.exp(x).sum(), rtol=1e-6)


def test_what_cannot_be_one_kernel_becomes_several(monkeypatch):
    measured = Writing._measure

    def refusing(self):
        if len(self.group.nodes) > 1:
            raise RefusedError("several at once")
        measured(self)

    monkeypatch.setattr(Writing, "_measure", refusing)
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)

    def softmax(x):
        e = snp.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True), e.sum()

    lowered = stagec.jit(softmax).lower(x)
    assert "not in the kernel" in lowered.as_text("kernels") and "(several at once)" in lowered.as_text("kernels")
    compiled = compiled_directly(lowered)
    e = np.exp(x - x.max(1, keepdims=True))
    for found, expected in zip(compiled(x), (e / e.sum(1, keepdims=True), e.sum())):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)


def test_what_no_kernel_is_written_for_is_refused_of_reproducible_programs(monkeypatch):
    def refusing(self):
        raise RefusedError("no such kernel")

    monkeypatch.setattr(Writing, "write", refusing)
    with stagec.config.override(enable_cache=False), pytest.raises(stagec.errors.UnsupportedError) as caught:
        stagec.jit(lambda x: snp.exp(x) * 2, reproducible=True)(np.ones(40, np.float32))
    text = str(caught.value)
    assert "cannot have the same bits on all processors: stablehlo." in text and "test_kernel_parts.py" in text
    assert "leave this operation out of the function, or leave reproducible=True out" in text
