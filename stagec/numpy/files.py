"""Arrays in files, of NumPy's formats. Nothing is pickled."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

import ml_dtypes
import numpy as np

from stagec.core import dtypes, errors, location
from stagec.core.array import Array
from stagec.numpy.arguments import array_argument
from stagec.numpy.values import asarray
from stagec.typing import ArrayLike, DTypeLike

__all__ = ["fromfile", "load", "save", "savez"]

Path = str | os.PathLike[str]


def save(file: Path | IO[bytes], arr: ArrayLike, allow_pickle: bool = False) -> None:
    """Write an array to a file of NumPy's `.npy` format.

    Args:
      file: a path, to which `.npy` is added if it does not end so, or a file that is open for writing bytes.
      arr: an array.
      allow_pickle: accepted; numbers need no pickling.

    Raises:
      DtypeError: the array has one of the small dtypes, for which the format has no name.

    >>> import io, stagec.numpy as snp
    >>> file = io.BytesIO()
    >>> snp.save(file, snp.arange(3))
    >>> snp.load(io.BytesIO(file.getvalue()))
    Array([0, 1, 2], dtype=int32)
    """
    np.save(file, _writable(arr, "save"), allow_pickle=False)


def savez(file: Path | IO[bytes], *args: ArrayLike, allow_pickle: bool = False, **kwds: ArrayLike) -> None:
    """Write arrays to one file of NumPy's `.npz` format.

    Args:
      file: a path, to which `.npz` is added if it does not end so, or a file that is open for writing bytes.
      args: arrays, which are named `arr_0`, `arr_1`, ...
      allow_pickle: accepted; numbers need no pickling.
      kwds: arrays, by their names in the file.

    >>> import io, stagec.numpy as snp
    >>> file = io.BytesIO()
    >>> snp.savez(file, weights=snp.ones(2))
    >>> snp.load(io.BytesIO(file.getvalue()))["weights"]
    Array([1., 1.], dtype=float32)
    """
    named: Any = {name: _writable(value, f"savez's {name}") for name, value in kwds.items()}
    np.savez(file, *[_writable(value, "savez") for value in args], **named)


def _writable(value: Any, name: str) -> np.ndarray[Any, Any]:
    found = np.asarray(array_argument(value, name))
    if found.dtype in dtypes.SMALL:
        raise location.error(
            errors.DtypeError,
            f"{name}: NumPy's formats have no name for {found.dtype.name}",
            fix="save numpy.asarray(x).view('uint8'), and view what was read as the dtype",
        )
    return found


class Archive(Mapping[str, Any]):
    """The arrays of an `.npz` file, each read when it is accessed. Close it, or use it in a `with` block."""

    def __init__(self, archive: Any) -> None:
        self._archive = archive
        self.files = list(archive.files)

    def __getitem__(self, name: str) -> Any:
        return _numbers(lambda: _read(self._archive[name]), f"{name!r} of the file")

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __repr__(self) -> str:
        return f"Archive({', '.join(self.files)})"

    def close(self) -> None:
        """Close the file."""
        self._archive.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def load(file: Path | IO[bytes], mmap_mode: str | None = None, allow_pickle: bool = False, **options: Any) -> Any:
    """Read an array from a file of NumPy's `.npy` format, or arrays by their names from an `.npz` file.

    Args:
      file: a path, or a file that is open for reading bytes.
      mmap_mode: accepted; the array is a copy in memory.
      allow_pickle: must be False.
      options: as for `numpy.load`.

    Raises:
      UnsupportedError: `allow_pickle` is set.
      DtypeError: the file holds something other than numbers, such as pickled objects.

    >>> import io, stagec.numpy as snp
    >>> file = io.BytesIO()
    >>> snp.save(file, snp.ones(2, "bfloat16"))
    >>> snp.load(io.BytesIO(file.getvalue()))
    Array([1, 1], dtype=bfloat16)
    """
    if allow_pickle:
        raise location.error(
            errors.UnsupportedError,
            "load: allow_pickle=True runs code out of the file, and arrays hold numbers only",
            fix="leave it out; read a file that you trust with numpy.load(file, allow_pickle=True)",
        )
    name = repr(os.fspath(file)) if isinstance(file, (str, os.PathLike)) else "the file"
    found = _numbers(lambda: np.load(file, allow_pickle=False, **options), name)
    return _read(found) if isinstance(found, np.ndarray) else Archive(found)


def _numbers(read: Callable[[], Any], name: str) -> Any:
    try:
        return read()
    except ValueError as error:
        if "pickle" not in str(error):
            raise
        raise location.error(
            errors.DtypeError,
            f"load: {name} holds pickled objects, or is damaged",
            fix="save arrays of numbers; read a file that you trust with numpy.load(file, allow_pickle=True)",
        ) from None


def _read(value: np.ndarray[Any, Any]) -> Any:
    # The format has no name for bfloat16, and records it as two bytes of no type.
    return asarray(value.view(ml_dtypes.bfloat16) if value.dtype == np.dtype("V2") else value)


def fromfile(file: Path | IO[Any], dtype: DTypeLike = float, count: int = -1, sep: str = "", offset: int = 0) -> Array:
    """Read numbers from a file that contains nothing else.

    Args:
      file: a path or an open file.
      dtype: of the numbers in the file; `float` is float64 there.
      count: how many numbers, all by default.
      sep: the separator of numbers in a text file; `""` for a binary file.
      offset: bytes to skip at the beginning.

    >>> import tempfile, numpy, stagec.numpy as snp
    >>> with tempfile.TemporaryFile() as file:
    ...     _ = file.write(numpy.arange(3, dtype="int16").tobytes())
    ...     _ = file.seek(0)
    ...     snp.fromfile(file, "int16")
    Array([0, 1, 2], dtype=int16)
    """
    kind = np.dtype(getattr(dtype, "dtype", dtype))
    return asarray(np.fromfile(file, kind, count, sep, offset=offset))
