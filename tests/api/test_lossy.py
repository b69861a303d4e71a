"""Arrays that mean more than their numbers are refused by name, wherever an array enters; the fixes work."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors, lax

MASKED = np.ma.array([1.0, 2.0], mask=[0, 1], dtype=np.float32)
X = np.array([1.0, 2.0], np.float32)


class Metres(np.ndarray):
    """A quantity: its arithmetic knows of units."""

    def __mul__(self, other):
        raise TypeError("square metres")


class Named(np.ndarray):
    """An array with a name; its arithmetic is NumPy's."""

    def __array_finalize__(self, other):
        self.name = getattr(other, "name", "")


def sparse():
    return pytest.importorskip("scipy.sparse").csr_matrix(np.eye(2, dtype=np.float32))


CASES = {
    "masked": (lambda: MASKED, "a masked array has a mask", "x.filled(0)"),
    "masked scalar": (lambda: np.ma.masked, "a masked array has a mask", None),
    "masked without a mask": (lambda: np.ma.array(X), "a masked array has a mask", "x.data"),
    "matrix": (lambda: np.asmatrix(X), r"\* of a np.matrix is the matrix product", "np.asarray(x)"),
    "record": (
        lambda: np.rec.array([(1.0, 2.0)], dtype=[("a", "f4"), ("b", "f4")]),
        "a np.recarray has fields",
        "{name: x[name] for name in x.dtype.names}",
    ),
    "quantity": (lambda: X.view(Metres), "Metres has arithmetic of its own", "np.asarray(x)"),
    "sparse": (sparse, "a csr_matrix of scipy.sparse is not an array of numbers", "x.toarray()"),
}

WAYS = {
    "jit": lambda x: stagec.jit(lambda a: a)(x),
    "jit, in a container": lambda x: stagec.jit(lambda a: a)({"w": [x]}),
    "closure": lambda x: stagec.jit(lambda a: a + snp.sum(x))(1.0),
    "operator in a traced function": lambda x: stagec.jit(lambda a: a + x)(1.0),
    "result": lambda x: stagec.jit(lambda a: x)(1.0),
    "array": snp.array,
    "asarray": snp.asarray,
    "array of a list": lambda x: snp.array([x, x]),
    "outside jit": snp.sum,
    "operator": lambda x: snp.ones(2) + x,
    "lax": lax.neg,
    "grad": lambda x: stagec.grad(snp.sum)(x),
    "vmap": lambda x: stagec.vmap(lambda a: a)(x),
    "scan": lambda x: lax.scan(lambda c, a: (c, a), 0, x),
    "device_put": stagec.device_put,
    "lower": lambda x: stagec.jit(lambda a: a).lower(x),
    "export": lambda x: stagec.export(lambda a: a + 1)(x),
    "loaded": lambda x: loaded()(x),
}


def loaded():
    return stagec.load(stagec.export(lambda a: a + 1)(X).serialize())


@pytest.mark.parametrize("way", WAYS)
def test_a_mask_is_never_dropped(way):
    with pytest.raises(errors.ArgumentTypeError, match="a masked array has a mask, which would be lost"):
        WAYS[way](MASKED)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("way", ["jit", "array", "outside jit", "loaded"])
@pytest.mark.parametrize("case", CASES)
def test_what_would_be_lost_is_named_and_the_fix_works(case, way):
    make, text, fix = CASES[case]
    x = make()
    with pytest.raises(errors.ArgumentTypeError, match=text) as raised:
        WAYS[way](x)
    if fix is not None:
        assert fix in str(raised.value).split("  Fix: ")[1]
        stagec.jit(lambda a: a)(eval(fix, {"x": x, "np": np}))


def test_the_argument_is_named():
    def total(weights):
        return weights.sum()

    with pytest.raises(errors.ArgumentTypeError, match=r"argument weights of .*total at .*: a masked array"):
        stagec.jit(total)(MASKED)
    with pytest.raises(errors.ArgumentTypeError, match="argument weights: a masked array"):
        stagec.grad(total)(MASKED)
    with pytest.raises(errors.ArgumentTypeError, match="argument a of <lambda>: a masked array"):
        loaded()(MASKED)


def test_what_a_callback_returns_is_looked_at():
    f = stagec.jit(lambda x: stagec.pure_callback(lambda v: MASKED, stagec.ShapeDtypeStruct((2,), "float32"), x))
    with pytest.raises(errors.CallbackError, match="a masked array has a mask"):
        np.asarray(f(X))


def test_a_refused_array_is_refused_again_after_a_plain_one():
    f = stagec.jit(lambda a: a.sum())
    assert float(f(X)) == 3.0
    for _ in range(2):
        with pytest.raises(errors.ArgumentTypeError):
            f(MASKED)


def test_memory_maps_and_subclasses_with_numpys_arithmetic_are_arrays(tmp_path):
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(2,))
    mapped[:] = X
    named = X.view(Named)
    for x in (mapped, named, np.float32(3.0)):
        assert stagec.jit(lambda a: a * 2)(x).tolist() == (np.asarray(x) * 2).tolist()
        assert snp.array(x).tolist() == np.asarray(x).tolist()
