"""Operations that are kernels of their own: updates, scatters, windows, cumulative operations, padding in between."""

import ml_dtypes  # noqa: F401 (names bfloat16)
import numpy as np
import pytest
from guarded import guarded

import stagec
import stagec.numpy as snp
from passes.kernels.straight import shares
from stagec import lax
from stagec.compiler import build, log

# Each dtype on one of the queues: a compile costs half a second.
DTYPES = pytest.mark.parametrize(
    ("shared", "dtype"),
    [("local-sync", "int8"), ("local-task", "uint16"), ("local-sync", "float32"), ("local-task", "float64")],
    indirect=["shared"],
)
QUEUES = pytest.mark.parametrize("shared", ["local-sync", "local-task"], indirect=True)


@pytest.fixture(autouse=True)
def nothing_cached():
    with stagec.config.override(enable_cache=False), stagec.enable_x64():
        yield


@pytest.fixture
def shared(request, monkeypatch):
    """Workgroups share even little work, on the queue that a test names."""
    stagec.clear_caches()
    monkeypatch.setattr(shares, "SHARE", 1 if request.param == "local-task" else 20)
    monkeypatch.setattr(build, "choose_driver", lambda graph, target: request.param)


def check(function, expected, *arrays):
    """Compiled directly, on memory that ends at a guarded page, a function returns what is expected."""
    log.clear()
    found = stagec.jit(function)(*map(guarded, arrays))
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    for number, (want, got) in enumerate(zip(expected, found, strict=True)):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5, atol=1e-5, err_msg=f"result {number}")


def sample(*shape, dtype="float32"):
    numbers = np.random.default_rng(len(shape))
    return (numbers.normal(size=shape) * 10).astype(dtype) if "f" in dtype else numbers.integers(0, 100, shape, dtype)


def put(x, index, values, add=False):
    x = x.copy()
    if add:
        np.add.at(x, index, values)
    else:
        x[index] = values
    return x


@DTYPES
def test_parts_are_written_where_they_begin_or_as_near_as_there_is_room(shared, dtype):
    x, rows, part = sample(37, 21, dtype=dtype), sample(5, 21, dtype=dtype), sample(4, 3, dtype=dtype)
    starts = [(0, 0), (13, 6), (36, 20), (-9, 100)]

    def function(x, rows, part, starts):
        found = [lax.dynamic_update_slice(x, rows, (i, 0)) for i, _ in starts]
        found += [lax.dynamic_update_slice(x, part, tuple(start)) for start in starts]
        return found + [lax.dynamic_update_slice(x[0], part[0], (i,)) for i, _ in starts]

    def begin(start, size, limit):
        # A negative start counts from the end.
        return min(max(start + limit if start < 0 else start, 0), limit - size)

    expected = [put(x, slice(begin(i, 5, 37), begin(i, 5, 37) + 5), rows) for i, _ in starts]
    for i, j in starts:
        i, j = begin(i, 4, 37), begin(j, 3, 21)
        expected.append(put(x, (slice(i, i + 4), slice(j, j + 3)), part))
    expected += [put(x[0], slice(begin(i, 3, 21), begin(i, 3, 21) + 3), part[0]) for i, _ in starts]
    check(function, expected, x, rows, part, np.array(starts, np.int32))


@DTYPES
def test_scatters_keep_their_order_and_drop_what_is_out_of_range(shared, dtype):
    x, u = sample(23, 17, dtype=dtype), sample(9, 17, dtype=dtype)
    i = np.array([3, 22, 3, 99, 0, -1, 3, -99, 7], np.int32)
    inside = [k for k in range(9) if -23 <= i[k] < 23]

    def function(x, u, i):
        return [
            x.at[i].set(u),
            x.at[i].add(u),
            x.at[:, i].add(u.T[:1, :]),
            x[:, 0].at[i].add(u[:, 0]),
            x[:, 0].at[i].set(u[:, 0]),
            x.at[i, i].set(u[:, 3]),
            x.at[i].max(u),
            snp.zeros_like(x).at[i].add(u),
        ]

    columns = [k for k in range(9) if -17 <= i[k] < 17]
    largest = x.copy()
    np.maximum.at(largest, i[inside], u[inside])
    expected = [
        put(x, i[inside], u[inside]),
        put(x, i[inside], u[inside], True),
        put(x, (slice(None), i[columns]), u.T[:1, columns], True),
        put(x[:, 0], i[inside], u[inside, 0], True),
        put(x[:, 0], i[inside], u[inside, 0]),
        put(x, (i[columns], i[columns]), u[columns, 3]),
        largest,
        put(np.zeros_like(x), i[inside], u[inside], True),
    ]
    check(function, expected, x, u, i)


@DTYPES
def test_elements_are_accumulated_along_any_axis_from_either_end(shared, dtype):
    shapes = [(133,), (3, 40), (40, 3), (2, 19, 37), (7, 1)]
    arrays = [sample(*shape, dtype=dtype) for shape in shapes]
    kinds = [(lax.cumsum, np.add), (lax.cummax, np.maximum), (lax.cummin, np.minimum)]
    if "f" in dtype:
        arrays = [x / 10 for x in arrays]
        kinds.append((lax.cumprod, np.multiply))
    cases = [(k, axis, back) for k in range(len(kinds)) for axis in (0, -1) for back in (False, True)]

    def function(*arrays):
        return [kinds[k][0](x, axis % x.ndim, reverse=back) for x in arrays for k, axis, back in cases]

    def expected(x, k, axis, back):
        step = -1 if back else 1
        found = kinds[k][1].accumulate(np.flip(x, axis) if back else x, axis, dtype=x.dtype)
        return np.flip(found, axis)[...] if step < 0 else found

    with np.errstate(all="ignore"):
        check(function, [expected(x, *case) for x in arrays for case in cases], *arrays)


@DTYPES
def test_windows_have_the_elements_that_are_there(shared, dtype):
    x, y = sample(3, 11, 18, 5, dtype=dtype), sample(2, 70, dtype=dtype)
    low = -np.inf if "f" in dtype else np.iinfo(dtype).min
    cases = [
        (x, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID", low),
        (x, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME", low),
        (x, lax.add, (1, 2, 3, 2), (1, 1, 1, 1), "SAME", 0),
        (y, lax.add, (1, 3), (1, 1), "SAME", 0),
        (y, lax.max, (2, 3), (1, 3), [(1, 0), (2, 2)], low),
    ]
    if dtype != "uint16":  # whose first number the passes leave to be computed
        cases.append((x, lax.add, (1, 5, 6, 1), (1, 5, 6, 1), "VALID", 7))
        cases.append((y, lax.min, (1, 9), (1, 2), "VALID", 0))

    def function(x, y):
        return [lax.reduce_window(x if a.ndim == 4 else y, a.dtype.type(first), *rest) for a, *rest, first in cases]

    expected = [np.asarray(lax.reduce_window(a, a.dtype.type(first), *rest)) for a, *rest, first in cases]
    check(function, expected, x, y)


def first_larger(a, b):
    """The larger of two numbers, and what comes with it; of equal ones the first."""
    is_first = a[0] >= b[0]
    return tuple(lax.select(is_first, *pair) for pair in zip(a, b))


def composed(a, b):
    """One map `x -> p x + q` after another: an associative function of two numbers whose order matters."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def factors(*shape, dtype):
    """Numbers whose products do not overflow as floats."""
    x = sample(*shape, dtype=dtype)
    return np.tanh(x) if "f" in dtype else x


SEVERAL = {first_larger: (0, 5), composed: (1, 0)}


@DTYPES
@pytest.mark.parametrize("combine", SEVERAL)
def test_several_arrays_are_reduced_over_windows_together_and_in_order(shared, dtype, combine):
    x, y, z = (factors(*shape, dtype=dtype) for shape in [(3, 11, 18, 5), (2, 70), (90,)])
    cases = [
        (x, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
        (x, (1, 3, 3, 1), (1, 2, 1, 1), "SAME"),
        (y, (1, 3), (1, 1), [(0, 0), (2, 1)]),
        (y, (2, 70), (1, 1), "VALID"),
        (z, (5,), (3,), "VALID"),
        (z, (90,), (1,), "VALID"),
    ]

    def function(x, y, z):
        found = []
        for a, window, steps, padding in cases:
            a = {4: x, 2: y, 1: z}[a.ndim]
            position = lax.broadcasted_iota(np.int32, a.shape, a.ndim - 1) if combine is first_larger else a - 1
            first = [np.asarray(n, v.dtype) for n, v in zip(SEVERAL[combine], (a, position))]
            found += lax.reduce_window((a, position), tuple(first), combine, window, steps, padding)
        return found

    with np.errstate(all="ignore"):
        check(function, [np.asarray(a) for a in function(*map(snp.asarray, (x, y, z)))], x, y, z)


@DTYPES
@pytest.mark.parametrize("combine", SEVERAL)
def test_reductions_whose_order_matters_are_kernels(shared, dtype, combine):
    arrays = [factors(*shape, dtype=dtype) for shape in [(133,), (3, 40), (40, 3), (2, 19, 37), (7, 1)]]
    cases = [(n, axes) for n, a in enumerate(arrays) for axes in [(0,), (a.ndim - 1,), tuple(range(a.ndim))]]

    def function(*arrays):
        found = []
        for n, axes in cases:
            a = arrays[n]
            position = lax.iota(np.int32, a.size).reshape(a.shape) if combine is first_larger else a - 1
            first = [np.asarray(n, v.dtype) for n, v in zip(SEVERAL[combine], (a, position))]
            found += lax.reduce((a, position), tuple(first), combine, axes)
        return found

    with np.errstate(all="ignore"):
        check(function, [np.asarray(a) for a in function(*map(snp.asarray, arrays))], *arrays)


@QUEUES
def test_what_a_reduction_does_not_return_is_not_written_and_its_start_may_be_computed(shared):
    x = sample(30, 40)

    def function(x, start):
        position = lax.broadcasted_iota(np.int32, x.shape, 1)
        pairs = [(np.float32(-100), np.int32(0)), (start, np.int32(7))]
        found = [lax.reduce((x, position), pair, first_larger, (1,))[1] for pair in pairs]
        windows = [lax.reduce_window((x, position), pair, first_larger, (1, 40)) for pair in pairs]
        return [*found, windows[0][1][:, 0], windows[1][0][:, 0]]

    log.clear()
    start = np.float32(15)
    found = stagec.jit(function)(guarded(x), start)
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    late = np.where(x.max(1) > start, x.argmax(1), 7)
    for want, got in zip([x.argmax(1), late, x.argmax(1), np.maximum(x.max(1), start)], found, strict=True):
        np.testing.assert_array_equal(got, want)


@QUEUES
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_elements_are_accumulated_at_every_second_place_of_other_axes_and_around_them(shared, axis):
    x = sample(6, 8, 5) / 10
    window, ends = [n if d == axis else 1 for d, n in enumerate(x.shape)], [(n - 1, 0) for n in x.shape]
    cases = [[(1 if d == axis else step) for d in range(3)] for step in (1, 2)]
    cases = [(steps, [e if d == axis else (0, pad) for d, e in enumerate(ends)]) for steps in cases for pad in (0, 1)]

    def function(x):
        return [lax.reduce_window(x, x.dtype.type(0), lax.add, window, steps, padding) for steps, padding in cases]

    check(function, [np.asarray(a) for a in function(x)], x)


@DTYPES
def test_padding_goes_between_elements(shared, dtype):
    x = sample(5, 7, 6, dtype=dtype)
    cases = [
        [(0, 0, 1), (0, 0, 0), (0, 0, 0)],
        [(2, 1, 0), (1, 0, 2), (0, 3, 0)],
        [(1, 0, 2), (0, 2, 1), (3, 1, 2)],
        [(0, 0, 0), (0, 0, 0), (0, 0, 1)],
    ]

    def function(x):
        return [lax.pad(x, x.dtype.type(9), case) for case in cases] + [lax.pad(x[0, 0], x.dtype.type(9), [(1, 2, 3)])]

    def padded(x, case):
        shape = [low + high + n + (n - 1) * inner for n, (low, high, inner) in zip(x.shape, case)]
        found = np.full(shape, 9, x.dtype)
        stops = [low + (n - 1) * (inner + 1) + 1 for n, (low, _, inner) in zip(x.shape, case)]
        found[tuple(slice(low, stop, inner + 1) for (low, _, inner), stop in zip(case, stops))] = x
        return found

    check(function, [*(padded(x, case) for case in cases), padded(x[0, 0], [(1, 2, 3)])], x)


@DTYPES
def test_few_elements_are_sorted_in_registers(shared, dtype):
    shapes = [(9, 40), (53, 5), (1, 2), (6, 3, 7), (31, 8, 1), (4, 5, 33)]
    numbers, arrays = np.random.default_rng(0), []
    for shape in shapes:
        x = numbers.choice([-np.inf, -1.5, -0.0, 0.0, 2, np.inf, np.nan] if "f" in dtype else [0, 1, 2, 100], shape)
        arrays.append(x.astype(dtype))
    cases = [(x, axis) for x in range(len(shapes)) for axis, n in enumerate(shapes[x]) if 1 < n <= 9]

    def function(*arrays):
        return [snp.sort(arrays[x], axis) for x, axis in cases]

    log.clear()
    found = stagec.jit(function)(*map(guarded, arrays))
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    for (x, axis), got in zip(cases, found, strict=True):
        expected = np.asarray(snp.sort(arrays[x], axis))
        # -0.0 and 0.0 are equal, and stay in their order.
        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected), err_msg=f"{arrays[x].shape} {axis}")
        np.testing.assert_array_equal(got, expected, err_msg=f"{arrays[x].shape} {axis}")


@QUEUES
def test_what_a_sort_of_few_elements_carries_along_is_written_if_it_alone_is_used(shared):
    x, y = sample(40, 6), sample(40, 6, dtype="int32")

    def function(x, y):
        return lax.sort((x, y), dimension=1, num_keys=1)[1], lax.sort((x[:, :2], x[:, 1:3], y[:, 4:]), num_keys=2)[0]

    check(function, [np.take_along_axis(y, np.argsort(x, 1), 1), np.sort(x[:, :2], 1)], x, y)


@QUEUES
def test_bytes_are_seen_as_elements_of_other_widths(shared):
    pairs = [
        ("float32", "uint8"),
        ("int16", "float64"),
        ("uint8", "bfloat16"),
        ("float16", "int8"),
        ("uint64", "int16"),
    ]
    arrays = []
    for source, target in pairs:
        source, target = (np.dtype(name) for name in (source, target))
        inner = () if source.itemsize > target.itemsize else (target.itemsize // source.itemsize,)
        raw = np.random.default_rng(0).integers(0, 256, 37 * 3 * source.itemsize * (inner or (1,))[0], np.uint8)
        arrays.append(raw.view(source).reshape(37, 3, *inner))

    def function(*arrays):
        return [lax.bitcast_convert_type(x, target) for x, (_, target) in zip(arrays, pairs)]

    log.clear()
    found = stagec.jit(function)(*map(guarded, arrays))
    assert [r.fields["flags"] for r in log.records("compile") if "flags" in r.fields] == ["direct"]
    for x, (_, target), got in zip(arrays, pairs, found, strict=True):
        # NaN and all they hold stay as they are.
        assert np.asarray(got).tobytes() == x.tobytes() and got.dtype == np.dtype(target)


@QUEUES
def test_sorts_and_running_combinations_of_one_number_are_kernels(shared):
    x = sample(7)

    def function(x):
        def body(i, state):
            zeros = snp.zeros(7, "float32")
            return state + lax.sort(zeros) + x * lax.cumprod(zeros + 0.5) + lax.cummax(zeros, reverse=True)

        return [lax.sort(snp.full(7, 2.0)) * x, lax.cumsum(snp.full(7, 3.0)) + x, lax.fori_loop(0, 3, body, x)]

    expected = [2 * x, 3 * np.arange(1, 8) + x, x + 3 * x * 0.5 ** np.arange(1, 8)]
    check(function, expected, x)


@QUEUES
def test_interleaved_arrays_are_read_by_what_is_costly(shared):
    x, y, z = (sample(40, n) / 20 for n in (32, 32, 64))

    def function(x, y, z):
        mixed = snp.stack([x, y], -1).reshape(40, 64)
        return [snp.exp(mixed), snp.tanh(mixed) * z + mixed.sum(1, keepdims=True), snp.exp(mixed[:, ::-1])]

    mixed = np.stack([x, y], -1).reshape(40, 64)
    expected = [np.exp(mixed), np.tanh(mixed) * z + mixed.sum(1, keepdims=True), np.exp(mixed[:, ::-1])]
    check(function, expected, x, y, z)


@QUEUES
def test_gradients_of_pooling_are_kernels(shared):
    def pooled(x, combine, first):
        return lax.reduce_window(x, first, combine, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    x = sample(2, 6, 8, 3)
    found = [
        stagec.grad(lambda x: (pooled(x, lax.max, -np.inf) ** 2).sum()),
        stagec.grad(lambda x: (pooled(x, lax.add, 0.0) ** 2).sum()),
    ]
    blocks = x.reshape(2, 3, 2, 4, 2, 3)
    largest, total = blocks.max((2, 4), keepdims=True), blocks.sum((2, 4), keepdims=True)
    expected = [np.where(blocks == largest, 2 * largest, 0), np.broadcast_to(2 * total, blocks.shape)]
    check(lambda x: [f(x) for f in found], [e.reshape(x.shape) for e in expected], x)


@QUEUES
@pytest.mark.parametrize(
    "update",
    [
        lambda x, u, i: lax.dynamic_update_slice(x, u, (i[0], 0)),
        lambda x, u, i: x.at[i].add(u),
        lambda x, u, i: x.at[i].add(u * x[0]),
        lambda x, u, i: x.at[i].set(u) + x[0, 0],
    ],
)
def test_updates_of_donated_arguments_are_right(shared, update):
    x, u, i = sample(40, 30), sample(3, 30), np.array([5, 7, 5], np.int32)
    with stagec.config.override(straight_kernels=False):
        expected = np.asarray(stagec.jit(update)(x, u, i))
    for function in (update, lambda *arguments: update(*arguments)):
        found = stagec.jit(function, donate_argnums=0)(snp.array(x), u, i)
        np.testing.assert_array_equal(np.asarray(found), expected)


@QUEUES
def test_updates_are_done_in_the_memory_of_a_donated_argument(shared):
    x, u, i = snp.ones((40, 30)), snp.ones((3, 30)), snp.array([5, 7, 5])

    def text(straight):
        with stagec.config.override(straight_kernels=straight):
            return stagec.jit(lambda x, u, i: x.at[i].add(u), donate_argnums=0).lower(x, u, i).as_text("kernels")

    assert "iree.abi.output = 0" in text(True) and "memref.extract_aligned_pointer_as_index" in text(True)
    # The compiler's own code may write results before it has read all of an argument.
    assert "iree.abi.output" not in text(False)
