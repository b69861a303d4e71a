"""Every public function with one argument that is wrong: another dtype, rank, length or type.

A call is computed, or refused with an error that says what to do about it. More calls: STAGEC_FUZZ=3.
"""

import importlib

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("scipy")

import function_checks as checks
from function_rows import TOPICS

import stagec
import stagec.numpy as snp
from stagec import lax, nn, random
from stagec.scipy.sparse.linalg import cg

KEY = random.key(0)
F = np.arange(6, dtype=np.float32).reshape(2, 3)


def other_arrays(array):
    with np.errstate(all="ignore"):
        whole = np.nan_to_num(np.real(array)).clip(0, 3)
        yield array.real if array.dtype.kind == "c" else array.astype(np.complex64)
        yield array.astype(bool)
        yield whole.astype(np.float32 if array.dtype.kind in "biu" else np.int32)
        yield whole.astype(ml_dtypes.int4)
        yield whole.astype(np.uint32)
    yield array[None]
    if array.ndim:
        yield array[:-1]
        yield np.zeros(array.shape[1:], array.dtype)
    yield from ("ab", None)


def others(value):
    """Values that are wrong in place of an argument, most of them."""
    if isinstance(value, np.ndarray):
        yield from other_arrays(value)
    elif isinstance(value, bool):
        yield from ("ab", np.ones(3))
    elif isinstance(value, int):
        yield from (value + 0.5, "ab", value + 50, -value - 50, None, (value, value), 1j)
    elif isinstance(value, float):
        yield from (1j, "ab", None, np.ones(7))
    elif isinstance(value, str):
        yield from ("nonsense", 1, None)
    elif isinstance(value, tuple) and value and all(isinstance(v, int) for v in value):
        yield from (value[:-1], (*value, 1), tuple(v + 0.5 for v in value), value[0], tuple(-v - 9 for v in value))
    elif value is None:
        yield from ("ab", 1.5)


def wrong_calls(made):
    for i, value in enumerate(made.args):
        for other in others(value):
            yield i, other, checks.Call((*made.args[:i], other, *made.args[i + 1 :]), made.kwargs)
    for name, value in made.kwargs.items():
        for other in others(value):
            yield name, other, checks.Call(made.args, {**made.kwargs, name: other})


def unexplained(row, made):
    """The error of a call that says nothing of how to fix it; None if there is none."""
    arrays, apply = checks.split(made)
    try:
        stagec.eval_shape(lambda *arrays: apply(row.function(), list(arrays)), *arrays)
    except stagec.errors.StagecError:
        return None
    except Exception as error:
        # Python's own types, where the user's function raises or nothing of stagec has run.
        return None if "\n  Fix: " in str(error) or row.name in RUN_FUNCTIONS else f"{type(error).__name__}: {error}"
    return None


# The error may come from the function that they are given.
RUN_FUNCTIONS = {"lax.cond", "lax.fori_loop", "lax.scan", "lax.switch", "lax.while_loop"}


@pytest.mark.parametrize("topic", TOPICS)
def test_wrong_arguments_are_explained(topic):
    found = []
    for row in importlib.import_module(f"function_rows.{topic}").ROWS:
        if row.concrete or row.static:
            continue
        for k in checks.draws(1):
            with checks.quiet():
                for place, other, made in wrong_calls(checks.drawn(row, k)):
                    error = unexplained(row, made)
                    if error is not None:
                        found.append(f"{row.name}, argument {place} is {other!r}: {error}")
    assert found == []


REFUSED = {
    "a fraction of a decimal": (lambda: snp.round(F, 1.5), "decimals must be an integer"),
    "a fraction of a position to delete": (lambda: snp.delete(F, 1.5), "obj must hold integers"),
    "a fraction of a position to insert at": (lambda: snp.insert(F, 1.5, 0), "obj must hold integers"),
    "a bool as a position": (lambda: snp.insert(F, True, 0), "obj must hold integers"),
    "an axis that is no number, where nothing is done": (lambda: snp.diff(F, 0, "x"), "axis must be an integer"),
    "a fraction of a difference": (lambda: snp.diff(F, 1.0), "n must be an integer"),
    "a fraction of a rank": (lambda: snp.partition(F, 1.0), "kth must be an integer"),
    "a mask for indices along an axis": (lambda: snp.take_along_axis(F, F > 2, 1), "does not accept bool"),
    "a mask for places along an axis": (
        lambda: snp.put_along_axis(F, F > 2, 0, 1, inplace=False),
        "does not accept bool",
    ),
    "a diagonal of a batch": (lambda: snp.fill_diagonal(np.ones((1, 2, 2)), 1, inplace=False), "differ in size"),
    "less than no columns": (lambda: snp.vander(F[0], -1), "N is -1"),
    "a complex fraction": (lambda: snp.quantile(F, 1j), "q must be real"),
    "no fraction": (lambda: snp.quantile(F, None), "q: expected an array"),
    "a fraction of a bin": (lambda: snp.histogram(F, np.float32(3)), "bins must be an integer"),
    "a mask of numbers": (lambda: nn.logsumexp(F, where=F), "where must be an array of bools"),
    "complex chances": (lambda: random.choice(KEY, 2, p=np.array([0.5, 0.5j])), "choice: a parameter is complex"),
    "complex logits": (lambda: random.categorical(KEY, np.array([1j, 2])), "categorical: a parameter is complex"),
    "complex shares": (lambda: random.multinomial(KEY, 3, np.array([1j, 2])), "multinomial: a parameter is complex"),
    "a complex chance": (lambda: random.geometric(KEY, 0.5j), "geometric: a parameter is complex"),
    "no matrix": (lambda: cg(None, F[0]), "A: expected an array"),
    "an update of other rank": (
        lambda: lax.dynamic_update_index_in_dim(F, np.zeros((1, 1, 3), np.float32), 0, 0),
        "does not fit",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_means_nothing_is_refused(case):
    call, text = REFUSED[case]
    with pytest.raises(stagec.errors.StagecError, match=text) as caught:
        call()
    assert "test_wrong_arguments.py" in str(caught.value) and "Fix: " in str(caught.value)


def test_what_python_raises_about_an_argument_names_the_line_and_the_function():
    where = r"^std: TypeError: .*\n  test_wrong_arguments.py:"
    with pytest.raises(stagec.errors.ArgumentTypeError, match=where) as caught:
        snp.std(F, ddof="1")
    assert "Fix: compare the arguments with help(snp.std): (a, axis" in str(caught.value)
    assert type(caught.value.__cause__) is TypeError
    with pytest.raises(stagec.errors.ArgumentValueError, match="resize: KeyError: 1"):
        stagec.image.resize(F, (3, 3), 1)


def test_what_the_users_own_function_raises_stays_as_it_is():
    with pytest.raises(ValueError, match=r"^mine$") as caught:
        stagec.vmap(lambda x: raises(ValueError("mine")))(F)
    assert type(caught.value) is ValueError
    with pytest.raises(KeyError) as key:
        stagec.tree.map(lambda x: {}[x], {"a": 1})
    assert type(key.value) is KeyError


def raises(error):
    raise error
