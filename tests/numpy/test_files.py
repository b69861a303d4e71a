"""Arrays in NumPy's files, and the options for showing them."""

import io

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors


@pytest.mark.parametrize("kind", ["bool", "uint8", "int32", "bfloat16", "float16", "float32", "complex64"])
def test_what_is_saved_is_loaded(kind, tmp_path):
    x = snp.arange(6).reshape(2, 3).astype(kind)
    snp.save(tmp_path / "x", x)
    found = snp.load(tmp_path / "x.npy")
    assert found.dtype == x.dtype and snp.array_equal(found, x)
    snp.savez(tmp_path / "many.npz", x, weights=x[0])
    with snp.load(tmp_path / "many.npz") as archive:
        assert archive.files == list(archive) and sorted(archive) == ["arr_0", "weights"]
        assert archive["arr_0"].dtype == archive["weights"].dtype == x.dtype
        assert snp.array_equal(archive["weights"], x[0]) and len(archive) == 2
    assert "arr_0" in repr(archive)


def test_numpy_reads_what_is_saved_and_is_read(tmp_path):
    snp.save(tmp_path / "x.npy", snp.arange(3))
    assert np.load(tmp_path / "x.npy").tolist() == [0, 1, 2]
    np.save(tmp_path / "wide.npy", np.arange(3.0))
    assert snp.load(tmp_path / "wide.npy").dtype == np.float32
    with stagec.enable_x64(True):
        assert snp.load(tmp_path / "wide.npy").dtype == np.float64


class Marked:
    ran = False

    def __reduce__(self):
        return exec, ("from test_files import Marked; Marked.ran = True",)


def test_nothing_is_unpickled(tmp_path):
    np.save(tmp_path / "object.npy", np.array([Marked()], object))
    with pytest.raises(errors.DtypeError, match="holds pickled objects"):
        snp.load(tmp_path / "object.npy")
    with pytest.raises(errors.UnsupportedError, match="allow_pickle=True runs code"):
        snp.load(tmp_path / "object.npy", allow_pickle=True)
    np.savez(tmp_path / "object.npz", x=np.array([Marked()], object))
    with pytest.raises(errors.DtypeError, match="holds pickled objects"):
        snp.load(tmp_path / "object.npz")["x"]
    assert not Marked.ran
    with pytest.raises(FileNotFoundError):
        snp.load(tmp_path / "absent.npy")


def test_a_traced_value_cannot_be_saved():
    with pytest.raises(errors.ConcretizationError):
        stagec.jit(lambda x: snp.save(io.BytesIO(), x))(1.0)


def test_numbers_from_a_file(tmp_path):
    np.arange(5, dtype=np.float64).tofile(tmp_path / "numbers")
    assert snp.fromfile(tmp_path / "numbers").tolist() == [0, 1, 2, 3, 4]
    assert snp.fromfile(tmp_path / "numbers", count=2, offset=16).tolist() == [2, 3]
    snp.arange(3, dtype="bfloat16").numpy().tofile(tmp_path / "small")
    assert snp.fromfile(tmp_path / "small", snp.bfloat16).tolist() == [0, 1, 2]
    (tmp_path / "text").write_text("1 2 3")
    assert snp.fromfile(tmp_path / "text", int, sep=" ").tolist() == [1, 2, 3]


def test_printing_options_hold_each_time():
    x = snp.array([1.23456, 1e-9])
    with snp.printoptions(precision=2, suppress=True):
        assert repr(x) == "Array([1.23, 0.  ], dtype=float32)"
        assert snp.get_printoptions()["precision"] == np.get_printoptions()["precision"] == 2
        for digits in (3, 4, 3, 4, 3):
            snp.set_printoptions(precision=digits)
            assert snp.get_printoptions()["precision"] == digits
    assert snp.array_repr(x, precision=1, suppress_small=True) == "Array([1.2, 0. ], dtype=float32)"
    assert snp.array_str(snp.arange(4), max_line_width=6) == "[0 1\n 2 3]"
    assert snp.iterable([]) and not snp.iterable(snp.array(1)) and snp.iterable(x)
