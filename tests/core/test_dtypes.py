import itertools
import threading
import warnings

import ml_dtypes
import numpy as np
import pytest

from stagec import dtypes as public
from stagec.core import dtype_info, dtypes, key_dtype
from stagec.core.config import config
from stagec.core.errors import DtypeError

ORDER = sorted(dtypes.ORDINARY, key=str)
SMALL = sorted(dtypes.SMALL, key=str)
NARROW = [d for d in ORDER if d not in (dtypes.int64, dtypes.uint64, dtypes.float64, dtypes.complex128)]


def canonical_dtypes(x64):
    return ORDER if x64 else NARROW


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def x64(request):
    with config.override(enable_x64=request.param):
        yield request.param


@pytest.fixture
def jax_dtypes(x64):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(x64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield pytest.importorskip("jax._src.dtypes")


class Typed:
    """Any object with a dtype and a weak type, which is what both libraries look at."""

    def __init__(self, dtype, weak):
        self.dtype, self.weak_type = dtype, weak


def pairs(x64):
    weak = [dtypes.default_int(), dtypes.default_float(), np.dtype("complex128" if x64 else "complex64")]
    return [(d, False) for d in canonical_dtypes(x64)] + [(d, True) for d in weak]


class WithAval:
    """What JAX looks at to find a weak type."""

    def __init__(self, dtype, weak):
        self.dtype, self.aval = dtype, Typed(dtype, weak)


def jax_result(jax_dtypes, row):
    return jax_dtypes.result_type(*(WithAval(*pair) for pair in row), return_weak_type_flag=True)


def test_every_pair_promotes_as_in_jax(x64, jax_dtypes):
    for row in itertools.product(pairs(x64), repeat=2):
        assert (row, *jax_result(jax_dtypes, row)) == (row, *dtypes.lattice_result(row))


def test_small_dtypes_promote_as_in_jax(jax_dtypes, x64):
    weak = [(d, True) for d, is_weak in pairs(x64) if is_weak]
    partners = [(d, False) for d in (*ORDER, *SMALL)] + weak
    for row in itertools.product([(d, False) for d in SMALL], partners):
        for pair in (row, row[::-1]):
            try:
                expected = jax_dtypes.result_type(*(WithAval(*p) for p in pair), return_weak_type_flag=True)
            except jax_dtypes.TypePromotionError:
                with pytest.raises(DtypeError, match="have no common dtype"):
                    dtypes.lattice_result(pair)
            else:
                assert (pair, *expected) == (pair, *dtypes.lattice_result(pair))


def test_triples_promote_as_in_jax(x64, jax_dtypes):
    for row in itertools.combinations_with_replacement(pairs(x64), 3):
        assert (row, *jax_result(jax_dtypes, row)) == (row, *dtypes.lattice_result(row))


def test_a_single_operand_keeps_its_weak_type_as_in_jax(x64, jax_dtypes):
    for pair in pairs(x64):
        assert (pair, *jax_result(jax_dtypes, [pair])) == (pair, *dtypes.lattice_result([pair]))


def test_python_scalars_promote_as_in_jax(x64, jax_dtypes):
    values = [True, 1, 2.5, 1j, bool, int, float, complex, np.float32(1), np.int8(3), "uint16", np.zeros(2, np.int64)]
    for row in itertools.product(values, repeat=2):
        expected = jax_dtypes.result_type(*row, return_weak_type_flag=True)
        assert (row, *expected) == (row, *dtypes.result_type_and_weak(*row))


def test_weak_types_are_read_from_arrays_and_from_tracers(x64):
    kind = dtypes.default_float()
    for weak in (Typed(kind, True), WithAval(kind, True)):
        assert dtypes.result_type_and_weak(weak, np.float16(1)) == (dtypes.float16, False)
        assert dtypes.result_type_and_weak(weak, 1) == (kind, True)


def test_promotion_does_not_depend_on_the_order(x64):
    for row in itertools.combinations(pairs(x64), 3):
        results = {dtypes.lattice_result(order) for order in itertools.permutations(row)}
        assert len(results) == 1, (row, results)


def test_canonicalize_agrees_with_jax(x64, jax_dtypes):
    for kind in [*ORDER, "float64", "bfloat16", bool, int, float, complex, np.int64, ml_dtypes.bfloat16, "f8"]:
        expected = jax_dtypes.canonicalize_dtype(kind)
        assert (kind, expected) == (kind, dtypes.canonicalize(kind))


def test_inexact_dtypes_agree_with_jax(jax_dtypes, x64):
    for dtype in canonical_dtypes(x64):
        assert (dtype, jax_dtypes.to_inexact_dtype(dtype)) == (dtype, dtypes.to_inexact(dtype))


def test_subdtypes_agree_with_jax():
    jax_dtypes = pytest.importorskip("jax.dtypes")
    kinds = [np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact, np.floating]
    kinds += [np.complexfloating, np.bool_, np.float32, ml_dtypes.bfloat16, ml_dtypes.int4, float, int, complex]
    for dtype, kind in itertools.product([*ORDER, *SMALL, float, int, "float32", dtypes.float0], kinds):
        assert (dtype, kind, jax_dtypes.issubdtype(dtype, kind)) == (dtype, kind, dtype_info.issubdtype(dtype, kind))


def test_isdtype_agrees_with_jax():
    snp = pytest.importorskip("jax.numpy")
    kinds = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]
    kinds += [("bool", "integral"), np.int8, ("bool", "float32")]
    for dtype, kind in itertools.product([*ORDER, *SMALL], kinds):
        assert (dtype, kind, snp.isdtype(dtype, kind)) == (dtype, kind, dtype_info.isdtype(dtype, kind))


def test_float0_is_jax_float0():
    assert pytest.importorskip("jax.dtypes").float0 == dtypes.float0


def test_64_bit_dtypes_narrow_unless_enabled():
    assert dtypes.canonicalize(np.float64) == np.float32
    with config.override(enable_x64=True):
        assert dtypes.canonicalize(np.float64) == np.float64
        assert dtypes.default_int() == np.int64
    assert dtypes.canonicalize(np.float64) == np.float32
    assert dtypes.default_int() == np.int32


def test_x64_is_read_in_each_thread_for_itself():
    seen = []
    with config.override(enable_x64=True):
        thread = threading.Thread(target=lambda: seen.append(dtypes.canonicalize(float)))
        thread.start()
        thread.join()
        assert dtypes.canonicalize(float) == np.float64
    assert seen == [np.float32]


def test_canonical_dtypes_are_identical_objects():
    assert dtypes.canonicalize(np.dtype(np.int32)) is dtypes.int32
    assert dtypes.canonicalize("<i4") is dtypes.int32
    with config.override(enable_x64=True):
        assert dtypes.canonicalize(np.longlong) is dtypes.int64


def test_foreign_byte_order_becomes_native():
    assert dtypes.canonicalize(">f4") is dtypes.float32


@pytest.mark.parametrize("bad", [object, "U3", "M8[s]", np.dtype([("a", "f4")]), None, [1], "foo", 3, bytes])
def test_a_dtype_that_arrays_cannot_have_is_refused(bad):
    with pytest.raises(DtypeError, match=r"is not a dtype that stagec arrays can have\n  test_dtypes.py:.*\n  Fix: "):
        dtypes.canonicalize(bad)


def test_short_names_round_trip():
    assert {dtypes.from_short(dtypes.short(d)) for d in ORDER} == set(ORDER)
    assert [dtypes.short(d) for d in (dtypes.bfloat16, dtypes.uint8, dtypes.bool_, dtypes.complex64)] == [
        "bf16",
        "u8",
        "bool",
        "c64",
    ]
    assert dtypes.from_short("float32") is dtypes.float32
    assert dtypes.from_short(dtypes.short(dtypes.KEY)) is dtypes.from_short("key") is dtypes.KEY


def test_an_unknown_short_name_lists_the_known_ones():
    with pytest.raises(DtypeError, match=r"'f33' names no dtype\n  Fix: use one of .*bf16.*f32"):
        dtypes.from_short("f33")


def test_kinds_partition_the_dtypes():
    kinds = [dtypes.BOOL, dtypes.SIGNED, dtypes.UNSIGNED, dtypes.FLOATING, dtypes.COMPLEX]
    assert sum(map(len, kinds)) == len(dtypes.ALL) == 30
    for dtype in dtypes.ALL:
        asked = [dtypes.is_bool, dtypes.is_signed, dtypes.is_unsigned, dtypes.is_float, dtypes.is_complex]
        assert [f(dtype) for f in asked] == [dtype in kind for kind in kinds]


def test_complex_and_real_parts_correspond():
    assert dtypes.complex_dtype(dtypes.bfloat16) == np.complex64
    assert dtypes.real_dtype(dtypes.complex64) == np.float32
    assert dtypes.real_dtype(dtypes.float16) == np.float16
    with config.override(enable_x64=True):
        assert dtypes.complex_dtype(dtypes.float64) == np.complex128
        assert dtypes.real_dtype(dtypes.complex128) == np.float64


def test_limits_know_bfloat16():
    assert float(dtype_info.finfo("bfloat16").max) == float(ml_dtypes.finfo("bfloat16").max)
    assert dtype_info.finfo(np.float32).eps == np.finfo(np.float32).eps
    assert dtype_info.finfo(dtypes.complex64).dtype == np.float32
    assert dtype_info.iinfo("uint8").max == 255


def test_limits_of_the_wrong_kind_name_the_other_function():
    with pytest.raises(DtypeError, match=r"finfo: int32 is not a floating dtype\n.*\n  Fix: use iinfo"):
        dtype_info.finfo(np.int32)
    with pytest.raises(DtypeError, match=r"iinfo: float32 is not an integer dtype\n.*\n  Fix: use finfo"):
        dtype_info.iinfo(np.float32)


def test_float0_promotes_with_nothing_else():
    assert dtypes.lattice_result([(dtypes.float0, False)] * 2) == (dtypes.float0, False)
    with pytest.raises(DtypeError, match="float0, f32 have no common dtype"):
        dtypes.lattice_result([(dtypes.float0, False), (dtypes.float32, False)])


def test_nothing_has_no_result_type():
    with pytest.raises(DtypeError, match="no dtypes to promote"):
        dtypes.result_type()


class RandomKeyDtype(key_dtype.ExtendedDtype):
    type = key_dtype.prng_key

    def __str__(self):
        return "key"


def test_an_extended_dtype_passes_through_alone():
    key = RandomKeyDtype()
    assert dtypes.canonicalize(key) is key
    assert dtypes.short(key) == "key"
    assert dtype_info.issubdtype(key, key_dtype.prng_key)
    assert dtype_info.issubdtype(key, key_dtype.extended)
    assert not dtype_info.issubdtype(key, np.number)
    assert not dtype_info.issubdtype(np.float32, key_dtype.extended)
    assert dtypes.result_type(Typed(key, False), Typed(key, False)) is key
    with pytest.raises(DtypeError, match="key, f32 have no common dtype"):
        dtypes.result_type(Typed(key, False), np.float32(1))


def test_public_names_exist():
    assert [name for name in public.__all__ if not hasattr(public, name)] == []
    assert public.bfloat16 is ml_dtypes.bfloat16
    assert public.scalar_type_of(np.int8(1)) is int
    assert public.itemsize_bits("float64") == 64


def test_no_dtype_is_the_default_float_as_in_jax(x64, jax_dtypes):
    assert jax_dtypes.canonicalize_dtype(None) == public.canonicalize_dtype(None)


def test_functions_narrow_arrays_of_64_bits_after_the_block_that_made_them():
    import stagec
    import stagec.numpy as snp

    with stagec.enable_x64():
        x, m, i = snp.arange(6.0), snp.arange(6.0).reshape(2, 3), snp.arange(4)
    for call in (
        lambda: snp.mean(x),
        lambda: snp.var(x),
        lambda: snp.pad(x, 1),
        lambda: snp.diag(x),
        lambda: snp.tril(m),
        lambda: snp.histogram(x)[1],
        lambda: snp.trunc(x),
        lambda: snp.nan_to_num(x),
        lambda: snp.vander(x),
        lambda: stagec.lax.random_gamma_grad(x, x),
        lambda: stagec.nn.one_hot(i, 4),
        lambda: stagec.jit(snp.mean)(x),
        lambda: stagec.grad(lambda x: snp.mean(x) * 2)(x).astype("float32"),
    ):
        assert call().dtype == "float32"
    assert not snp.isinf(x).any()
