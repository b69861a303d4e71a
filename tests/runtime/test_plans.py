"""What runs by a plan outside `jit` is what the function itself gives."""

import pickle
import threading
import tracemalloc
import warnings

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax, nn
from stagec.control import graph_rules
from stagec.runtime import plans


@pytest.fixture(autouse=True)
def fresh():
    plans.forget()


def arrays(dtype="float32"):
    rng = np.random.default_rng(0)
    return snp.asarray((rng.normal(size=(3, 4)) * 5).astype(dtype)), snp.asarray((rng.normal(size=4) * 5).astype(dtype))


CALLS = {
    "x + 1": lambda x, y: x + 1,
    "1.5 - x": lambda x, y: 1.5 - x,
    "x * y": lambda x, y: x * y,
    "x / 3": lambda x, y: x / 3,
    "x // 2": lambda x, y: x // 2,
    "x % -2.5": lambda x, y: x % -2.5,
    "x ** 2": lambda x, y: x**2,
    "x ** 0.5": lambda x, y: abs(x) ** 0.5,
    "-x": lambda x, y: -x,
    "x > 0": lambda x, y: x > 0,
    "x == y": lambda x, y: x == y,
    "x @ y": lambda x, y: x @ y,
    "x @ x.T": lambda x, y: x @ x.T,
    "x.T": lambda x, y: x.T,
    "sum": lambda x, y: x.sum(),
    "sum of rows": lambda x, y: x.sum(axis=1, keepdims=True),
    "mean": lambda x, y: x.mean(),
    "mean of rows": lambda x, y: x.mean(-1),
    "mean where": lambda x, y: snp.mean(x, 0, where=x > 0),
    "std": lambda x, y: x.std(0),
    "max": lambda x, y: x.max(1),
    "argmax": lambda x, y: x.argmax(1),
    "any": lambda x, y: (x > 0).any(),
    "cumsum": lambda x, y: snp.cumsum(x, 1),
    "sort": lambda x, y: snp.sort(x, 0),
    "argsort": lambda x, y: snp.argsort(x),
    "astype": lambda x, y: x.astype("int32"),
    "reshape": lambda x, y: x.reshape(2, -1),
    "ravel": lambda x, y: x.ravel(),
    "where": lambda x, y: snp.where(x > 0, x, 0.0),
    "clip": lambda x, y: snp.clip(x, -1, 2),
    "maximum": lambda x, y: snp.maximum(x, 0),
    "concatenate": lambda x, y: snp.concatenate([x, x], axis=1),
    "stack": lambda x, y: snp.stack((y, y)),
    "divmod": lambda x, y: snp.divmod(x, 3),
    "modf": lambda x, y: snp.modf(x),
    "split": lambda x, y: snp.split(x, 2, axis=1),
    "meshgrid": lambda x, y: snp.meshgrid(y, y),
    "linspace": lambda x, y: snp.linspace(0, 1, 5),
    "zeros": lambda x, y: snp.zeros((2, 3)),
    "arange": lambda x, y: snp.arange(10),
    "zeros_like": lambda x, y: snp.zeros_like(x),
    "round": lambda x, y: snp.round(x, 1),
    "sign": lambda x, y: snp.sign(x),
    "sin": lambda x, y: snp.sin(x),
    "trace": lambda x, y: snp.trace(x),
    "einsum": lambda x, y: snp.einsum("ij,j->i", x, y),
    "take": lambda x, y: snp.take(x, snp.asarray(np.array([0, 2])), axis=1),
    "x[i]": lambda x, y: x[snp.asarray(np.array([0, 2]))],
    "broadcast_to": lambda x, y: snp.broadcast_to(y, (3, 4)),
    "interp": lambda x, y: snp.interp(x, snp.arange(4.0), y),
    "shape": lambda x, y: snp.shape(x),
    "unique": lambda x, y: snp.unique(y),
    "nonzero": lambda x, y: snp.nonzero(x > 0),
    "positive": lambda x, y: +x,
    "lax.add": lambda x, y: lax.add(x, x),
    "lax.slice": lambda x, y: lax.slice(x, (0, 1), (2, 3)),
    "softmax": lambda x, y: nn.softmax(x, axis=0),
    "relu": lambda x, y: nn.relu(x),
}


def described(result):
    leaves = stagec.tree.leaves(result)
    return [(type(v), v.aval, np.asarray(v).tobytes()) if isinstance(v, stagec.Array) else (type(v), v) for v in leaves]


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16", "int8", "bool"])
@pytest.mark.parametrize("name", CALLS)
def test_a_plan_gives_what_the_function_gives(name, dtype):
    x, y = arrays(dtype)
    call = CALLS[name]
    outcomes = []
    for _ in range(3):  # the function; the plan, made and run; the plan
        try:
            outcomes.append(described(call(x, y)))
        except (stagec.StagecError, TypeError) as error:
            outcomes.append((type(error), str(error)))
    assert outcomes[1:] == outcomes[:1] * 2


def plans_of(function):
    """How many kinds of arguments a function has a plan for."""
    # Under what hides stagec's frames is what makes plans.
    table = next(c.cell_contents for c in function.__wrapped__.__closure__ if type(c.cell_contents) is dict)
    return sum(callable(plan) and type(plan) is not plans._Recorded for plan in table.values())


def test_the_second_call_makes_a_plan():
    x, _ = arrays()
    for expected in (0, 1, 1):
        snp.sin(x)
        assert plans_of(snp.sin) == expected


def test_numbers_share_a_plan_and_keep_their_values():
    x, _ = arrays()
    for i in range(10):
        np.testing.assert_array_equal(np.asarray(x * (i + 0.5)), np.asarray(x) * np.float32(i + 0.5))
        np.testing.assert_array_equal(np.asarray(x + i), np.asarray(x) + np.float32(i))
    assert plans_of(snp.multiply) == plans_of(snp.add) == 1


def test_zeros_of_both_signs_nan_and_booleans_are_told_apart():
    x, _ = arrays()
    for _ in range(3):
        assert np.signbit(np.asarray(snp.full_like(x, -0.0))).all()
        assert not np.signbit(np.asarray(snp.full_like(x, 0.0))).any()
        assert np.isnan(np.asarray(snp.full_like(x, float("nan")))).all()
        assert (x.astype(bool) + True).dtype == bool
        assert (x.astype(bool) + 1).dtype == np.int32


def test_a_number_that_does_not_fit_is_an_error_at_each_call():
    x = snp.arange(3).astype("int8")
    for _ in range(3):
        assert (x + 100).tolist() == [100, 101, 102]
        with pytest.raises(OverflowError, match="Python integer 300 does not fit int8"):
            x + 300


def test_an_operand_by_name_is_not_one_by_position():
    x, _ = arrays()
    for _ in range(3):
        assert snp.sum(x, axis=0).shape == (4,)
        with pytest.raises(Exception, match="axis"):
            snp.sum(x, "axis", 0)


def test_an_error_is_raised_where_the_function_is_called():
    x, _ = arrays()
    for _ in range(3):
        with pytest.raises(stagec.errors.ShapeError, match=r"test_plans\.py:\d+ in .*\n?.*x @ x"):
            x @ x


def test_a_warning_comes_at_each_call():
    x, _ = arrays()
    for _ in range(3):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            snp.zeros(3, "float64")
            x.sum(dtype="float64")
        assert len(found) == 2


def test_options_decide_at_each_call():
    for _ in range(3):
        assert snp.arange(3.0).dtype == np.float32
        with stagec.enable_x64():
            assert snp.arange(3.0).dtype == np.float64
    stagec.config.update("enable_x64", True)
    try:
        assert snp.arange(3.0).dtype == np.float64
    finally:
        stagec.config.update("enable_x64", False)
    assert snp.arange(3.0).dtype == np.float32


def test_nan_is_found_by_debug_nans():
    x = snp.zeros(3)
    for _ in range(3):
        snp.log(x - 1)
    with stagec.debug_nans(), pytest.raises(FloatingPointError):
        snp.log(x - 1)


def test_tracers_go_past_plans():
    x, _ = arrays()
    for _ in range(3):
        snp.sin(x)
    graph = stagec.make_graph(snp.sin)(x).graph
    assert [e.primitive.name for e in graph.equations] == ["sin"]
    np.testing.assert_allclose(np.asarray(stagec.grad(lambda v: snp.sin(v).sum())(x)), np.cos(np.asarray(x)), rtol=1e-6)


def test_results_are_committed_where_operands_are():
    place = stagec.devices()[0]
    x, _ = arrays()
    for _ in range(3):
        assert not snp.sin(x).committed
        assert snp.sin(stagec.device_put(x, place)).committed


def test_a_deleted_array_is_refused():
    for _ in range(3):
        x = snp.ones(3)
        snp.sin(x)
        x.delete()
        with pytest.raises(stagec.errors.DonationError, match="deleted"):
            snp.sin(x)


def test_results_are_arrays_of_their_own():
    first, second = (snp.zeros(3) for _ in range(2))
    third = snp.zeros(3)
    third.delete()
    assert first is not second and second.tolist() == [0, 0, 0] == snp.zeros(3).tolist()
    view = np.asarray(snp.zeros(3))
    with pytest.raises(ValueError):
        view.flags.writeable = True


def test_copies_have_memory_of_their_own():
    x, _ = arrays()
    for _ in range(3):
        assert snp.copy(x).address() != x.address() != x.copy().address()
        assert snp.asarray(x) is x


def test_memory_is_freed_between_steps():
    x = snp.ones((1 << 20,))
    for _ in range(3):
        y = snp.std(x)
    tracemalloc.start()
    y = snp.std(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert float(y) == 0 and peak < 3.5 * x.nbytes


@pytest.mark.parametrize("function", [snp.sin, snp.abs, snp.absolute, lax.add, nn.relu])
def test_functions_are_pickled_by_name(function):
    assert pickle.loads(pickle.dumps(function)) is function
    assert snp.abs is snp.absolute


def test_threads_share_plans():
    x, _ = arrays()
    expected = np.sin(np.asarray(x))
    wrong = []

    def work():
        for _ in range(50):
            if not np.array_equal(np.asarray(snp.sin(x)), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_many_kinds_are_forgotten():
    for n in range(plans._MOST_KINDS + 10):
        snp.sin(snp.zeros(n % 700))
    assert plans_of(snp.sin) <= plans._MOST_KINDS


@pytest.mark.parametrize(
    "index",
    [
        0,
        -1,
        7,
        -7,
        slice(1, 3),
        slice(None, None, -1),
        slice(10, 2),
        (1, 2),
        (slice(1), -1),
        (0, slice(None, None, 2)),
        (),
    ],
)
def test_known_indices_give_a_view_like_getitem(index):
    x, _ = arrays()
    expected = stagec.numpy.indexing.getitem(x, index)
    found = x[index]
    assert found.aval is expected.aval
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
    assert not found.size or np.shares_memory(np.asarray(found), np.asarray(x))


def test_entries_are_arrays_of_the_same_memory():
    x, y = arrays()
    rows, numbers = list(x), list(y)
    assert [r.aval for r in rows] == [x[0].aval] * 3 and [n.aval for n in numbers] == [y[0].aval] * 4
    assert [r.tolist() for r in rows] == x.tolist() and [n.tolist() for n in numbers] == y.tolist()
    assert np.shares_memory(np.asarray(rows[1]), np.asarray(x))
    assert [v.weak_type for v in snp.asarray(np.ones(2)) * 1] == [False, False]
    first, *_ = snp.asarray(np.array([[np.nan, 1]], np.float16))
    assert first.dtype == np.float16


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "bool", "float16"])
def test_values_sort_with_zeros_in_their_order(dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (5, 200)).astype(dtype)
    if x.dtype.kind == "f":
        x[rng.uniform(size=x.shape) < 0.2] *= -0.0
        x[0, :3] = [np.nan, -np.inf, -np.nan]
    with stagec.enable_x64():
        for axis in (0, 1):
            order = np.argsort(x, axis, kind="stable")
            expected = np.take_along_axis(x, order, axis)
            found = np.asarray(snp.sort(snp.asarray(x), axis))
            np.testing.assert_array_equal(found, expected)
            assert (
                (np.signbit(found) == np.signbit(expected))[~np.isnan(expected)].all() if x.dtype.kind == "f" else True
            )


LARGE = {
    "x // y": lambda x, y: x // y,
    "divmod": lambda x, y: divmod(x, y),
    "var of columns": lambda x, y: x.var(0),
    "std of rows": lambda x, y: x.std(1, keepdims=True),
    "outer": lambda x, y: snp.outer(y, y),
    "where": lambda x, y: snp.where(x > y, x, 0.0),
    "nan_to_num": lambda x, y: snp.nan_to_num(x),
    "round": lambda x, y: snp.round(x, 2),
    "softmax": lambda x, y: nn.softmax(x, axis=1),
    "gelu": lambda x, y: nn.gelu(x),
    "norm": lambda x, y: snp.linalg.norm(x, axis=1),
    "logaddexp": lambda x, y: snp.logaddexp(x, y),
    "median": lambda x, y: snp.median(x, axis=0),
    "cov": lambda x, y: snp.cov(x),
    "hypot": lambda x, y: snp.hypot(x, y),
    "logit": lambda x, y: stagec.scipy.special.logit(x),
    "irfft": lambda x, y: snp.fft.irfft(snp.fft.rfft(x)),
}


@pytest.mark.parametrize("name", LARGE)
def test_temporaries_are_written_again_and_operands_are_not(name):
    rng = np.random.default_rng(0)
    x = snp.asarray(rng.normal(size=(150, 160)).astype(np.float32))
    y = snp.asarray(rng.normal(size=160).astype(np.float32))
    before = described([x, y])
    call = LARGE[name]
    outcomes = [described(call(x, y)) for _ in range(3)]
    assert outcomes[1:] == outcomes[:1] * 2
    assert described([x, y]) == before


SELECTIONS = {
    "over the first case": lambda x, y: snp.where(x > y, x + 1, y),
    "over the second case": lambda x, y: snp.where(x > y, y, x + 1),
    "of one case": lambda x, y: snp.where(x > y, made := x + 1, made),
    "of numbers": lambda x, y: snp.where(x > y, 1.5, x * 2),
    "of a row": lambda x, y: snp.where(x > y, y[0], x * 2),
    "by a row": lambda x, y: snp.where(x[0] > y[0], x * 2, y),
    "read again": lambda x, y: snp.where(x > y, made := x + 1, y) + made,
    "by itself": lambda x, y: snp.where(found := x > y, y > 0, found),
    "of operands": lambda x, y: snp.where(x > y, x, y),
    "of a view": lambda x, y: snp.where(x > y, (x + 1).T.T, y),
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_selections_are_written_over_values_that_nothing_reads(name):
    rng = np.random.default_rng(0)
    x, y = (snp.asarray(rng.normal(size=(3, 4)).astype(np.float32)) for _ in range(2))
    before = described([x, y])
    call = SELECTIONS[name]
    planned = plans.planned(call)
    expected = [(stagec.Array, v.aval, np.asarray(v).tobytes()) for v in [call(x, y)]]
    assert [described(planned(x, y)) for _ in range(3)] == [expected] * 3
    assert described([x, y]) == before


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint16", "uint32"])
@pytest.mark.parametrize("shift", [lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic])
def test_shifts_by_any_amount_are_those_of_compiled_code(shift, dtype):
    info = np.iinfo(dtype)
    x = np.array([info.min, info.min + 1, 0, 1, 5, info.max], dtype)
    amounts = np.array([*range(info.bits + 2), info.max, *[a for a in (-1, info.min) if a >= info.min]])
    numbers, by = [snp.asarray(v.astype(dtype)) for v in np.broadcast_arrays(x[:, None], amounts)]
    for operands in ((numbers, by), (numbers, by[0, 1]), (numbers[0, 0], by[0, -1])):
        expected = described(stagec.jit(shift)(*operands))
        assert [described(shift(*operands)) for _ in range(3)] == [expected] * 3


def test_dtypes_that_can_be_called_have_plans():
    x, _ = arrays()
    for _ in range(3):
        assert snp.zeros_like(x, snp.int8).dtype == np.int8
    assert plans_of(snp.zeros_like) == 1


def test_a_slice_of_an_array_without_axes_is_an_array():
    for _ in range(3):
        assert np.asarray(lax.slice(snp.asarray(2.5), [], [])) == 2.5


def test_functions_of_other_namespaces_have_plans():
    x, _ = arrays()
    for f in (snp.linalg.norm, snp.fft.fft, stagec.scipy.special.expit, stagec.scipy.fft.dct):
        for _ in range(2):
            f(x)
        assert plans_of(f) == 1


def test_functions_that_look_at_no_values_are_not_refused_a_plan(monkeypatch):
    refused = set()
    record = plans._recorded

    def recorded(function, args, kwargs, inputs, operands, exactly):
        found = record(function, args, kwargs, inputs, operands, exactly)
        if operands is plans._FLOATS:
            return found  # an attempt, for a program
        if found is plans._REFUSED or (type(found) is plans._Recorded and found.plan() is plans._REFUSED):
            refused.add(function.__name__)
        return found

    monkeypatch.setattr(plans, "_recorded", recorded)
    x, y = arrays()
    for call in CALLS.values():
        for _ in range(2):
            call(x, y)
    assert refused == {"nonzero", "shape", "unique"}  # they look at values, or return none


def test_plans_have_the_operations_of_the_functions_that_they_call():
    """Functions with derivatives of their own are calls in a graph, and so are jitted ones."""
    graph = stagec.jit(lambda x: stagec.jit(stagec.nn.softplus)(x) * 2).trace(arrays()[0]).jaxpr.graph
    names = [e.primitive.name for e in graph_rules.inlined(graph).equations]
    assert {"exp", "log1p", "mul"} <= {*names} and not {"jit", "custom_jvp_call"} & {*names}


def test_arrays_of_numpy_are_planned_and_copied():
    given = np.arange(6, dtype=np.float64)
    spread = np.arange(12, dtype=np.float32)[::2]
    for _ in range(3):
        shaped, taken, total = snp.reshape(given, (2, 3)), snp.ravel(spread), snp.add(np.float64(0.5), given)
        first = [np.asarray(v).copy() for v in (shaped, taken, total)]
        given += 1
        spread += 1
        for value, before in zip((shaped, taken, total), first, strict=True):
            assert value.dtype == np.float32
            np.testing.assert_array_equal(value, before)
    np.testing.assert_array_equal(snp.ravel(spread), spread)


def test_large_arrays_of_numpy_are_not_kept():
    given = np.zeros(1 << 15, np.float32)
    for _ in range(3):
        result = snp.reshape(given, (2, -1))
        given += 1
        assert float(result[0, 0]) == float(given[0]) - 1


# Ways in which a large array of NumPy lies in memory.
LAID = {
    "in order": lambda x: x,
    "reversed": lambda x: x[:, ::-1],
    "with gaps": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "by columns": np.asfortranarray,
    "not aligned": lambda x: np.frombuffer(bytearray(b"0" + x.tobytes()), np.uint8)[1:].view(x.dtype).reshape(x.shape),
    "of 64 bits": lambda x: x.astype(np.float64),
}


@pytest.mark.parametrize("laid", LAID)
def test_large_arrays_of_numpy_are_planned_and_results_are_no_views_of_them(laid):
    stagec.clear_caches()
    given = LAID[laid](np.arange(1 << 15, dtype=np.float32).reshape(64, -1))
    for _ in range(3):
        expected = np.sin(given, dtype=np.float32), given[:32].copy(), given.T.copy()
        found = snp.sin(given), snp.split(given, 2)[0], snp.transpose(given)
        given += 1
        for value, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)
    assert plans_of(snp.sin) == plans_of(snp.split) == plans_of(snp.transpose) == 1


def test_updates_of_few_elements_are_planned(monkeypatch):
    from stagec.numpy import writes

    x, places = snp.arange(8.0), snp.asarray([2, -1, 9])
    calls = []
    monkeypatch.setattr(
        writes, "_broadcast_values", lambda v, shape, f=writes._broadcast_values: calls.append(0) or f(v, shape)
    )
    for value in range(4):
        expected = np.arange(8.0)
        expected[[2, 7]] = value
        np.testing.assert_array_equal(x.at[places].set(value), expected)
    assert len(calls) == 1


def test_numpy_is_given_arrays_without_gaps(monkeypatch):
    strides = []
    monkeypatch.setattr(stagec.lax.sin_p, "eval", lambda x, **params: strides.append(x.strides) or np.sin(x))
    large = np.arange(1 << 16, dtype=np.float32)
    for x in (large[::-2], large[: 1 << 8][::-1]):
        snp.sin(x)
        stagec.lax.sin_p(x)
    assert strides == [(4,)] * 4


def test_large_constants_of_a_plan_are_there_in_each_call():
    from stagec.scipy import linalg

    x = snp.arange(1.0, 101.0)  # the matrix below the first row takes 38 kB, and is a constant of the plan
    first = np.asarray(linalg.companion(x))
    for _ in range(3):
        np.testing.assert_array_equal(linalg.companion(x), first)
