"""Every public function on random arguments: outside jit, traced, compiled, vmapped, and its derivatives.

What decides is NumPy's or SciPy's function of the same name, or a formula in the table, `function_rows`. Dtypes are
compared with JAX's where it is installed. More calls, other ones at each run: STAGEC_FUZZ=20.
"""

import importlib
import zlib

import pytest

pytest.importorskip("scipy")

import function_checks as checks
from function_rows import TOPICS

import stagec


def rows(topic):
    return importlib.import_module(f"function_rows.{topic}").ROWS


def failures(topic, check, count, keep=lambda row: True):
    """What is wrong in a topic, at most one call for each row; and the rows of which no call was accepted."""
    wrong, never = [], []
    for row in filter(keep, rows(topic)):
        accepted = False
        for k in checks.draws(1 if row.costly else count):
            try:
                accepted = check(row, k) is not False or accepted
            except checks.Difference as difference:
                wrong.append(str(difference))
                accepted = True
                break
        if not accepted:
            never.append(f"{row.name}: no call could be compared")
    return "\n\n".join([*wrong, *never])


@pytest.mark.parametrize("topic", TOPICS)
def test_values_outside_of_jit_are_those_of_the_oracle(topic):
    def check(row, k):
        wide = k % 3 == 2
        # One of the three is compiled, where the function is: a wide one for some functions.
        with stagec.enable_x64(wide), checks.by_numpy((k + zlib.crc32(row.name.encode())) % 3 > 0):
            return checks.check_values(row, k, wide)

    assert failures(topic, check, 3, lambda row: row.oracle is not None) == ""


@pytest.mark.parametrize("topic", TOPICS)
def test_traced_graphs_compute_the_same(topic):
    def check(row, k):
        with stagec.enable_x64(k % 2 == 1):
            checks.check_trace(row, k, k % 2 == 1)

    with checks.by_numpy():
        assert failures(topic, check, 1, lambda row: not row.concrete and not row.static) == ""


@pytest.mark.parametrize("topic", TOPICS)
def test_vmap_is_a_loop(topic):
    keep = lambda row: row.batched and not row.concrete and not row.static  # noqa: E731
    assert failures(topic, checks.check_vmap, 1, keep) == ""


@pytest.mark.parametrize("topic", TOPICS)
def test_derivatives_are_those_of_differences(topic):
    keep = lambda row: row.derivative in ("compared", "refused")  # noqa: E731
    with checks.by_numpy():
        assert failures(topic, checks.check_derivative, 1, keep) == ""


@pytest.mark.parametrize("topic", TOPICS)
def test_dtypes_are_those_of_jax(topic):
    pytest.importorskip("jax")

    def check(row, k):
        with stagec.enable_x64():
            checks.check_dtypes(row, k, True)

    keep = lambda row: row.like_jax and checks.has_jax(row.name) and (checks.FUZZ > 1 or not row.concrete)  # noqa: E731
    with checks.by_numpy():
        assert failures(topic, check, 1, keep) == ""


@pytest.mark.parametrize("topic", ["lax_elements", "distributions", "scientific", "random_numbers", "initializers"])
def test_values_without_another_oracle_are_those_of_jax(topic):
    """Draws by keys only in hunts: JAX compiles each of them, and `tests/random` has known ones."""
    pytest.importorskip("jax")
    if checks.FUZZ == 1 and topic in ("random_numbers", "initializers"):
        pytest.skip("STAGEC_FUZZ=2 or more compares them")
    check = lambda row, k: checks.check_jax(row, k, False)  # noqa: E731
    assert failures(topic, check, 1, lambda row: row.oracle is None) == ""


def programs(topic):
    """The rows of a topic, as they are compiled together; of costly ones, outside of hunts, one for each module."""
    plain, alone = [], {}
    for row in rows(topic):
        if row.costly and not row.concrete and not row.static:
            alone.setdefault(row.name.rpartition(".")[0] if checks.FUZZ == 1 else row.name, [row])
        elif not row.concrete and not row.static:
            plain.append(row)
    # A program costs more than one operation more, but its cost grows faster than its length.
    return [plain[i : i + 12] for i in range(0, len(plain), 12)] + list(alone.values())


PROGRAMS = [(topic, i) for topic in TOPICS for i in range(len(programs(topic)))]
# Without arrays among their arguments, there is nothing to compile.
CONSTANT = {"lax.broadcasted_iota", "lax.iota"}


@pytest.mark.parametrize("topic, program", PROGRAMS)
def test_compiled_results_are_those_outside_of_jit(topic, program):
    table = programs(topic)[program]
    for n in range(checks.FUZZ):
        chosen = []
        for row in table:
            found = (checks.compilable(row, k) for k in checks.draws(4)[4 * n : 4 * n + 4])
            call = next((call for call in found if call is not None), None)
            assert call is not None or row.name in CONSTANT or checks.FUZZ > 1, row.name
            chosen += [] if call is None else [(row, *call)]
        checks.check_compiled(chosen)
