"""The dtypes of arrays, which of them the configuration allows, and how they promote.

The dtypes here are `np.dtype` instances. A dtype is *weak* when it came from a
Python scalar: it yields to the dtype of any array of its own kind.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np

from stagec.core import location
from stagec.core.config import config, state
from stagec.core.errors import DtypeError, message
from stagec.core.key_dtype import KEY as KEY, ExtendedDtype as ExtendedDtype, KeyDtype as KeyDtype

Dtype: TypeAlias = "np.dtype[Any]"
DtypeLike: TypeAlias = object  # np.dtype, scalar type, Python scalar type, name, or anything that has a `dtype`.

bool_: Dtype = np.dtype(np.bool_)
int8, int16, int32, int64 = (np.dtype(f"int{n}") for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{n}") for n in (8, 16, 32, 64))
bfloat16: Dtype = np.dtype(ml_dtypes.bfloat16)
float16, float32, float64 = (np.dtype(f"float{n}") for n in (16, 32, 64))
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")
# The tangent of an integer or a boolean: it holds no information and takes no space.
float0: Dtype = np.dtype([("float0", np.void, 0)])

# Dtypes of up to eight bits, held in a byte: operations compute in the dtype that is given here, and round once.
_small = {kind: np.dtype(getattr(ml_dtypes, kind)) for kind in "int2 int4 uint2 uint4".split()}
int2, int4, uint2, uint4 = _small.values()
SMALL_INTEGER: frozenset[Dtype] = frozenset(_small.values())
SMALL_FLOAT: frozenset[Dtype] = frozenset(
    np.dtype(getattr(ml_dtypes, f"float{kind}"))
    for kind in (
        "4_e2m1fn 6_e2m3fn 6_e3m2fn 8_e3m4 8_e4m3 8_e4m3b11fnuz 8_e4m3fn 8_e4m3fnuz 8_e5m2 8_e5m2fnuz 8_e8m0fnu"
    ).split()
)
COMPUTED_IN: dict[Dtype, Dtype] = {
    **{int2: int8, int4: int8, uint2: uint8, uint4: uint8},
    **dict.fromkeys(SMALL_FLOAT, float32),
}
SMALL: frozenset[Dtype] = frozenset(COMPUTED_IN)
SUB_BYTE: frozenset[Dtype] = frozenset(d for d in SMALL if not d.name.startswith("float8"))

BOOL: frozenset[Dtype] = frozenset({bool_})
SIGNED: frozenset[Dtype] = frozenset({int2, int4, int8, int16, int32, int64})
UNSIGNED: frozenset[Dtype] = frozenset({uint2, uint4, uint8, uint16, uint32, uint64})
INTEGER: frozenset[Dtype] = SIGNED | UNSIGNED
FLOATING: frozenset[Dtype] = SMALL_FLOAT | {bfloat16, float16, float32, float64}
COMPLEX: frozenset[Dtype] = frozenset({complex64, complex128})
INEXACT: frozenset[Dtype] = FLOATING | COMPLEX
NUMERIC: frozenset[Dtype] = INTEGER | INEXACT
ALL: frozenset[Dtype] = BOOL | NUMERIC
ORDINARY: frozenset[Dtype] = ALL - SMALL
# Of what is moved and compared, but not computed with.
ELEMENTS: frozenset[Any] = ALL | {KEY}


def carried(dtype: Any) -> Dtype:
    """The dtype as which compiled code moves elements of `dtype`."""
    return int8 if dtype in SMALL else uint64 if dtype == KEY else dtype


# The fix where keys are given for numbers.
NO_NUMBERS = "pass keys alone, or the bits of keys: stagec.random.key_data(keys)"

_NARROW = {int64: int32, uint64: uint32, float64: float32, complex128: complex64}
WIDE: frozenset[Dtype] = frozenset(_NARROW)
_DTYPE_LIST = (
    "bool, int8 to int64, uint8 to uint64, bfloat16, float16, float32, float64, complex64, complex128, "
    "or a small one, such as float8_e4m3fn and int4"
)

_values = config._values


def _x64() -> bool:
    # `config.enable_x64` takes Python's slow attribute path; this runs once an operation.
    overrides = state.overrides
    x64: bool = overrides["enable_x64"] if "enable_x64" in overrides else _values["enable_x64"]
    return x64


def parse(dtype: DtypeLike) -> Any:
    """The supported dtype that `dtype` stands for, not narrowed.

    Raises:
      DtypeError: arrays cannot have this dtype.
    """
    if hasattr(dtype, "__array__") and not isinstance(dtype, type):
        raise location.error(
            DtypeError,
            "an array is not a dtype",
            fix="pass dtype=x.dtype for the dtype of an array; put several arrays into brackets, as in f([a, b])",
        )
    if dtype == KEY:
        return KEY
    if dtype is not None:
        try:
            named: Any = _EXTRA.get(dtype, dtype) if isinstance(dtype, str) else dtype
            found: Any = np.dtype(named)
        except (TypeError, ValueError, AttributeError, SyntaxError):
            found = getattr(dtype, "dtype", None)
        if isinstance(found, ExtendedDtype):
            return found
        if isinstance(found, np.dtype):
            if found == float0:
                return float0
            if not found.isnative:
                found = found.newbyteorder("=")
            if found in ALL:
                return _INTERNED[found]
            dtype = found
    shown = getattr(dtype, "__name__", None) or str(dtype)
    fix = f"use one of {_DTYPE_LIST}"
    if isinstance(dtype, (int, float, complex, tuple, list)):
        fix = "pass a name, such as 'float32'; several sizes, axes or numbers go into one tuple, as in zeros((2, 3))"
    if isinstance(dtype, np.dtype) and dtype.kind in "OSUTMm":
        fix = "keep such values outside of arrays, or encode them as numbers first"
    elif isinstance(dtype, np.dtype) and dtype.names:
        fix = "pass a dict or a dataclass of arrays, one for each field"
    raise location.error(DtypeError, f"{shown} is not a dtype that stagec arrays can have", fix=fix)


# Equal dtypes need not be identical (`np.longlong` and `np.int64`): hand out one of each.
_INTERNED = {dtype: dtype for dtype in ALL}
_EXTRA = {dtype.name: dtype for dtype in {bfloat16, *SMALL}}
_canonical: tuple[dict[Any, np.dtype], dict[Any, np.dtype]] = ({}, {})


def canonicalize(dtype: DtypeLike) -> Dtype:
    """The dtype that an array gets when `dtype` is asked for.

    Without `enable_x64`, 64-bit dtypes become their 32-bit counterparts.

    Args:
      dtype: whatever `np.dtype` accepts, a Python scalar type, or `"bfloat16"`.

    Raises:
      DtypeError: arrays cannot have this dtype.

    >>> canonicalize(float)
    dtype('float32')
    """
    x64 = _x64()
    try:
        return _canonical[x64][dtype]
    except (KeyError, TypeError):
        pass
    if isinstance(dtype, ExtendedDtype):
        return cast(Dtype, dtype)
    found: Dtype = parse(dtype)
    if not x64:
        found = _NARROW.get(found, found)
    if isinstance(dtype, type | str | np.dtype):
        _canonical[x64][dtype] = found
    return found


def default_int() -> Dtype:
    """The dtype of a Python int"""
    return int64 if _x64() else int32


def default_uint() -> Dtype:
    """The widest unsigned dtype in force"""
    return uint64 if _x64() else uint32


def default_float() -> Dtype:
    """The dtype of a Python float"""
    return float64 if _x64() else float32


_PYTHON_SCALARS: dict[type, np.dtype] = {bool: bool_, int: int64, float: float64, complex: complex128}
python_scalar_types = tuple(_PYTHON_SCALARS)


def python_scalar_kind(kind: type) -> type | None:
    """Which of bool, int, float and complex `kind` is or derives from; None for all else, NumPy's scalars included.

    >>> import signal
    >>> python_scalar_kind(signal.Signals), python_scalar_kind(np.float64)
    (<class 'int'>, None)
    """
    if kind in _PYTHON_SCALARS:
        return kind
    if issubclass(kind, np.generic):
        return None
    return next((base for base in python_scalar_types if issubclass(kind, base)), None)


def python_scalar_dtype(kind: type) -> tuple[np.dtype, bool]:
    """The dtype and weak type of a Python scalar of type `kind`.

    >>> python_scalar_dtype(float)
    (dtype('float32'), True)
    """
    return canonicalize(_PYTHON_SCALARS[kind]), kind is not bool


def scalar_type_of(x: Any) -> type:
    """The Python type, one of bool, int, float and complex, of the scalars of `x`'s dtype.

    >>> scalar_type_of(np.ones(3))
    <class 'float'>
    """
    dtype = dtype_and_weak_type(x)[0]
    return bool if is_bool(dtype) else int if is_integer(dtype) else float if is_float(dtype) else complex


def itemsize_bits(dtype: DtypeLike) -> int:
    """The number of bits of one element of `dtype`.

    >>> itemsize_bits("bfloat16"), itemsize_bits("int4")
    (16, 4)
    """
    found: Dtype = parse(dtype)
    return int("".join(c for c in found.name.split("_")[0] if c.isdigit())) if found in SMALL else 8 * found.itemsize


@functools.cache
def integer_range(dtype: np.dtype) -> tuple[int, int]:
    """The least and the largest number of an integer dtype.

    >>> integer_range(int4)
    (-8, 7)
    """
    limits: Any = ml_dtypes.iinfo
    info = limits(dtype)
    return int(info.min), int(info.max)


# ---------------------------------------------------------------- names

_SHORT: dict[Any, str] = {
    **{d: d.name.replace("uint", "u").replace("int", "i") for d in INTEGER},
    **{d: d.name.replace("float", "f").replace("_", "") for d in FLOATING},
    **{complex64: "c64", complex128: "c128", bool_: "bool", float0: "float0", bfloat16: "bf16"},
}
_FROM_SHORT: dict[str, Dtype] = {
    **{text: dtype for dtype, text in _SHORT.items()},
    **{dtype.name: dtype for dtype in ALL},
    **{"key": KEY, KEY.name: KEY},
}


def short(dtype: Any) -> str:
    """The short name of a dtype: `f32`, `bf16`, `i32`, `u8`, `bool`, `c64`.

    >>> short(float32)
    'f32'
    """
    return _SHORT.get(dtype) or str(dtype)


def from_short(text: str) -> Dtype:
    """The dtype that has the short name or the full name `text`.

    Raises:
      DtypeError: no dtype has this name.

    >>> from_short("bf16")
    dtype(bfloat16)
    """
    try:
        return _FROM_SHORT[text.strip()]
    except KeyError:
        names = ", ".join(sorted(name for name, dtype in _FROM_SHORT.items() if dtype is not float0))
        raise DtypeError(message(f"{text!r} names no dtype", fix=f"use one of {names}")) from None


# ---------------------------------------------------------------- kinds


def is_bool(dtype: Any) -> bool:
    """Whether `dtype` is bool"""
    return bool(dtype == bool_)


def is_integer(dtype: Any) -> bool:
    """Whether `dtype` is a signed or unsigned integer"""
    return dtype in INTEGER


def is_signed(dtype: Any) -> bool:
    """Whether `dtype` is a signed integer"""
    return dtype in SIGNED


def is_unsigned(dtype: Any) -> bool:
    """Whether `dtype` is an unsigned integer"""
    return dtype in UNSIGNED


def is_float(dtype: Any) -> bool:
    """Whether `dtype` is a real floating dtype; bfloat16 is one"""
    return dtype in FLOATING


def is_complex(dtype: Any) -> bool:
    """Whether `dtype` is complex"""
    return dtype in COMPLEX


def is_inexact(dtype: Any) -> bool:
    """Whether `dtype` is floating or complex: the dtypes that have derivatives"""
    return dtype in INEXACT


def is_key(dtype: Any) -> bool:
    """Whether `dtype` is that of random keys"""
    return type(dtype) is KeyDtype


def real_dtype(dtype: np.dtype) -> Dtype:
    """The dtype of the real part of an array of `dtype`"""
    return float32 if dtype == complex64 else float64 if dtype == complex128 else dtype


def complex_dtype(dtype: np.dtype) -> Dtype:
    """The complex dtype whose parts can hold `dtype`.

    >>> complex_dtype(float32)
    dtype('complex64')
    """
    return promote_types(to_inexact(dtype), complex64)


def to_inexact(dtype: np.dtype) -> Dtype:
    """`dtype` where it is floating or complex, else the floating dtype that its functions return.

    >>> to_inexact(int8)
    dtype('float32')
    """
    if dtype in INEXACT:
        return dtype
    return default_float() if dtype in (int64, uint64) else float32


# ---------------------------------------------------------------- promotion

# The promotion lattice: each dtype, and the ones right above it. The Python types stand for weak dtypes.
_ABOVE: dict[Any, tuple[Any, ...]] = {
    bool_: (int,),
    int: (uint8, int8, *SMALL_INTEGER),
    uint8: (uint16, int16),
    uint16: (uint32, int32),
    uint32: (uint64, int64),
    uint64: (float,),
    int8: (int16,),
    int16: (int32,),
    int32: (int64,),
    int64: (float,),
    float: (bfloat16, float16, complex, *SMALL_FLOAT),
    bfloat16: (float32,),
    float16: (float32,),
    float32: (float64, complex64),
    float64: (complex128,),
    complex: (complex64,),
    complex64: (complex128,),
    complex128: (),
    # Nothing is above the small ones: they promote only with themselves and with weak numbers.
    **dict.fromkeys(SMALL, ()),
}


def _reachable(node: Any) -> frozenset[Any]:
    return frozenset({node}).union(*(_reachable(up) for up in _ABOVE[node]))


_UPPER = {node: _reachable(node) for node in _ABOVE}
_WEAK_NODE = {bool_: bool_, **dict.fromkeys(INTEGER, int), **dict.fromkeys(FLOATING, float)}
_WEAK_NODE.update(dict.fromkeys(COMPLEX, complex))


def _join(nodes: Iterable[Any]) -> Any:
    """The least upper bound of some nodes; None where there is none"""
    common = frozenset.intersection(*(_UPPER[node] for node in nodes))
    return next((node for node in common if _UPPER[node] == common), None)


_results: dict[tuple[Any, ...], tuple[np.dtype, bool]] = {}


def is_strict() -> bool:
    """Whether operations that the user wrote are refused unless their operands have one dtype"""
    return config.checks_promotion() and config.numpy_dtype_promotion == "strict"


def check_strict(pairs: Sequence[tuple[np.dtype, bool]]) -> None:
    """Raise unless there is one strong dtype, which holds numbers of all weak kinds."""
    strong = {dtype for dtype, weak in pairs if not weak}
    holds = {"u": "iu", "i": "iu", "f": "iuf", "c": "iufc", "b": "b"}
    fits = len(strong) < 2 and all(
        dtype.kind in holds.get(s.kind, "iuf") for s in strong for dtype, weak in pairs if weak
    )
    if not fits:
        raise location.error(
            DtypeError,
            f"{', '.join(dict.fromkeys(d.name for d, _ in pairs))} are not promoted with "
            "numpy_dtype_promotion='strict'",
            fix="convert them with astype, or allow it with stagec.numpy_dtype_promotion('standard')",
        )


def lattice_result(pairs: Sequence[tuple[np.dtype, bool]]) -> tuple[np.dtype, bool]:
    """The dtype and weak type of an operation on operands with these dtypes and weak types.

    Raises:
      DtypeError: the dtypes have no common dtype, or there are none.

    >>> lattice_result([(int32, False), (float32, True)])
    (dtype('float32'), True)
    """
    key = (_x64(), *pairs)
    try:
        return _results[key]
    except KeyError:
        pass
    if not pairs:
        raise location.error(DtypeError, "no dtypes to promote", fix="pass at least one array, scalar or dtype")
    dtypes = [dtype for dtype, _ in pairs]
    all_weak = all(weak for _, weak in pairs)
    if dtypes.count(dtypes[0]) == len(dtypes):
        result, weak = dtypes[0], all_weak
    else:
        for dtype in dtypes:
            if dtype not in ALL:
                raise _no_common(dtypes, dtype)
        # Weak operands alone promote like strong ones, and the result is weak.
        node = _join(dtype if all_weak or not weak else _WEAK_NODE[dtype] for dtype, weak in pairs)
        if node is None:
            raise _no_common(dtypes, next(d for d in dtypes if d in SMALL))
        result, weak = _PYTHON_SCALARS.get(node, node), all_weak or node in _PYTHON_SCALARS
    result = canonicalize(result)
    _results[key] = result, weak and result is not bool_
    return _results[key]


def _no_common(dtypes: Sequence[np.dtype], convert: np.dtype) -> DtypeError:
    names = ", ".join(short(d) for d in dtypes)
    if KEY in dtypes:
        return location.error(DtypeError, f"an array cannot hold keys and numbers: {names}", fix=NO_NUMBERS)
    return location.error(DtypeError, f"{names} have no common dtype", fix=f"convert the {short(convert)} operand")


def _asked(pairs: Sequence[tuple[np.dtype, bool]]) -> tuple[np.dtype, bool]:
    if is_strict() and location.is_called_by_user():
        check_strict(pairs)
    return lattice_result(pairs)


def promote_types(a: DtypeLike, b: DtypeLike) -> Dtype:
    """The dtype of an operation on arrays of dtypes `a` and `b`; Python types are weak.

    >>> promote_types("int32", "bfloat16")
    dtype(bfloat16)
    """
    return _asked((dtype_and_weak_type(a), dtype_and_weak_type(b)))[0]


def dtype_and_weak_type(x: Any) -> tuple[np.dtype, bool]:
    """The dtype that an array, a number or a dtype brings into a promotion, and whether it is weak"""
    kind = x if isinstance(x, type) else type(x)
    scalar = python_scalar_kind(kind)
    if scalar is not None:
        return python_scalar_dtype(scalar)
    if isinstance(x, type | np.dtype | str) or not hasattr(x, "dtype"):
        return canonicalize(x), False
    return canonicalize(x.dtype), bool(getattr(getattr(x, "aval", x), "weak_type", False))


def result_type(*args: Any) -> Dtype:
    """The dtype that arrays, scalars and dtypes promote to together.

    Raises:
      DtypeError: there is no common dtype.

    >>> result_type(np.int8(1), 2.5)
    dtype('float32')
    """
    return _asked(tuple(map(dtype_and_weak_type, args)))[0]


def result_type_and_weak(*args: Any) -> tuple[np.dtype, bool]:
    """The dtype that `result_type` gives, and whether it is weak"""
    return _asked(tuple(map(dtype_and_weak_type, args)))
