"""What the table says of operations holds for their meaning in NumPy."""

import itertools

import numpy as np
import pytest

from passes import operations
from passes.operations import Memory, Precision, Regions

ROWS = sorted(operations.TABLE.values(), key=lambda row: row.name)
FLOATS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-3, -700.0, 6e4, np.inf, -np.inf, np.nan])
INTEGERS = np.array([0, 1, -1, 2, -2, 7, 100, 127, -127, -128])
BOOLEANS = np.array([False, True])


def having(**facts):
    return pytest.mark.parametrize(
        "row", [operations.of(name) for name in operations.where(**facts)], ids=lambda row: row.name
    )


def results(row, values):
    """What an operation makes of all combinations of values; None if it has no meaning for them."""
    columns = np.array(list(itertools.product(values, repeat=len(row.operands.split())))).astype(values.dtype).T
    with np.errstate(all="ignore"):
        try:
            return columns, np.asarray(row.numpy(*columns))
        except TypeError:
            return columns, None


def bits(array):
    """The elements' bits, all NaN alike."""
    return np.where(array != array, np.nan, array).astype(array.dtype).tobytes()


@having(commutative=True)
def test_commutative_operations_are_the_same_with_operands_exchanged(row):
    for values in (FLOATS, FLOATS.astype(np.float32), INTEGERS.astype(np.int8), BOOLEANS):
        (x, y), found = results(row, values)
        if found is not None:
            with np.errstate(all="ignore"):
                assert bits(found) == bits(np.asarray(row.numpy(y, x)))


@pytest.mark.parametrize("row", [row for row in ROWS if row.chooses and row.numpy], ids=lambda row: row.name)
def test_operations_that_choose_return_an_operands_bits(row):
    columns, found = results(row, FLOATS)
    wholes = np.array([*columns]).view(np.uint64)
    same = (wholes == found.view(np.uint64)).any(axis=0)
    assert (same | np.isnan(found)).all()


@pytest.mark.parametrize("row", [row for row in ROWS if row.monotone and row.numpy], ids=lambda row: row.name)
def test_monotone_operations_keep_or_reverse_the_order_within_their_domain(row):
    values = np.array(sorted(FLOATS[FLOATS == FLOATS], key=lambda x: (x, not np.signbit(x))))
    low, high = row.domain
    values = values[(low <= values) & (values <= high)]
    if row.short == "not":
        values = np.unique(INTEGERS).astype(np.int8)
    if row.precision is Precision.OPEN:
        values = np.unique(values + 0.0)  # the order of zeros is open, too
    with np.errstate(all="ignore"):
        found = row.numpy(values)[:: row.monotone]
    assert not np.isnan(found).any()
    keys = [(x, not np.signbit(x)) for x in found.tolist()]
    assert all(a <= b for a, b in itertools.pairwise(keys))


@having(integral=True)
def test_integral_operations_return_whole_numbers_and_leave_them_alone(row):
    (_,), found = results(row, FLOATS)
    finite = found[np.isfinite(found)]
    assert (finite == np.rint(finite)).all()
    assert bits(results(row, found)[1]) == bits(found)


@having(modular=True)
def test_modular_operations_have_the_same_bits_for_unsigned_integers(row):
    columns, found = results(row, INTEGERS.astype(np.int8))
    assert found.tobytes() == row.numpy(*[c.view(np.uint8) for c in columns]).tobytes()


@having(modular=True)
def test_modular_operations_in_a_narrow_type_are_the_low_bits_of_those_in_a_wide_one(row):
    columns, found = results(row, INTEGERS.astype(np.int16) * 37)
    assert found.astype(np.int8).tobytes() == row.numpy(*columns.astype(np.int8)).tobytes()


@pytest.mark.parametrize("row", [row for row in ROWS if row.dual], ids=lambda row: row.name)
def test_an_operation_absorbs_its_dual_and_distributes_over_it(row):
    dual = operations.of(row.dual)
    assert operations.of(dual.dual) is row
    for values in (INTEGERS.astype(np.int8), BOOLEANS):
        x, y, z = np.array(list(itertools.product(values, repeat=3))).astype(values.dtype).T
        assert row.numpy(x, dual.numpy(x, y)).tolist() == x.tolist()
        distributed = dual.numpy(row.numpy(x, y), row.numpy(x, z))
        assert row.numpy(x, dual.numpy(y, z)).tolist() == distributed.tolist()


@pytest.mark.parametrize("row", [row for row in ROWS if row.of_booleans], ids=lambda row: row.name)
def test_the_operation_on_booleans_is_the_one_that_is_named(row):
    columns, found = results(row, BOOLEANS)
    assert found.tolist() == operations.of(row.of_booleans).numpy(*columns).tolist()


@pytest.mark.parametrize("row", [row for row in ROWS if row.ufunc is not None], ids=lambda row: row.name)
def test_the_reducing_function_combines_integers_as_the_operation_does(row):
    (x, y), found = results(row, INTEGERS.astype(np.int8))
    assert found.tolist() == row.ufunc(x, y).tolist()


# The result of `next_after` depends on the type.
EXACT = [r for r in ROWS if r.numpy and r.precision is Precision.EXACT and r.name != "chlo.next_after"]


@pytest.mark.parametrize("row", EXACT, ids=lambda row: row.name)
def test_exact_operations_on_narrow_numbers_return_narrow_numbers(row):
    _, found = results(row, FLOATS.astype(np.float16).astype(np.float32))
    if found is not None and found.dtype == np.float32:
        assert bits(found.astype(np.float16).astype(np.float32)) == bits(found)


def test_names_of_operands_are_turned_into_positions():
    scatter = operations.of("stablehlo.scatter")
    assert scatter.positions("updates", 7) == [4, 5, 6]
    assert operations.of("stablehlo.dynamic_update_slice").positions("operand update", 4) == [0, 1]
    assert operations.of("stablehlo.select").positions("on_true on_false", 3) == [1, 2]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_rows_name_operands_and_operations_that_exist(row):
    known = {word.lstrip("*") for word in (row.operands or "").split()}
    assert {*row.sources.split(), *row.written.split(), *row.indices.split()} <= known
    assert {row.of_booleans, row.dual, row.inverse} <= {"", *operations.TABLE}
    assert not (row.moves and row.elementwise)
    assert row.memory is not Memory.UPDATED or row.written
    assert row.numpy is None or row.elementwise


def test_an_operation_of_another_dialect_may_be_anything():
    other = operations.of("other.op")
    assert not other.elementwise and not other.moves and other.memory is Memory.FOLDED
    assert operations.of("flow.dispatch").memory is Memory.NEW
    assert operations.of("stablehlo.while").regions is Regions.LOOP
