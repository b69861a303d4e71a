"""Every public function with operands of other dtypes than its row draws: integers, bools, halves, and mixtures.

What JAX accepts is accepted, with the dtypes of its results, and the values are those of NumPy's function.
"""

import importlib
import zlib

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("scipy")

import function_checks as checks
from function_rows import TOPICS

# The dtypes of the first operand and of the others.
KINDS = {
    "integers": ("int32", "int32"),
    "bools": ("bool", "bool"),
    "unsigned": ("uint8", "uint8"),
    "integers and floats": ("int32", "float32"),
    "floats and integers": ("float32", "int32"),
    "halves and floats": ("float16", "float32"),
    "bools and integers": ("bool", "int32"),
}
REFUSED = {
    "lax.conv": "bools",
    "lax.conv_general_dilated": "bools",
    "lax.conv_general_dilated_local": "bools, and operands of two dtypes",
    "lax.conv_general_dilated_patches": "bools",
    "lax.conv_transpose": "bools",
    "lax.conv_with_general_padding": "bools",
    "lax.cumlogsumexp": "integers",
    "lax.dot": "operands of two dtypes, neither of which holds the other's values",
    "lax.index_take": "masks of the wrong length",
    "lax.ragged_dot": "operands of two dtypes",
    "lax.random_gamma_grad": "operands of two dtypes",
    "lax.select": "predicates that are no bools",
    "lax.select_n": "unsigned predicates",
    "ops.segment_max": "bools",
    "ops.segment_min": "bools",
    "scipy.linalg.companion": "bools",
}
OTHER_DTYPES = {
    "numpy.linalg.vector_norm": "floats for every order, as the array API standard says",
    "numpy.setdiff1d": "JAX looks at nothing where one array is empty",
    "numpy.unravel_index": "the default integer, as NumPy",
}
OTHER_VALUES = {
    "numpy.interp": "what two points at one place give differs",
    "numpy.polymul": "NumPy multiplies bools to bools",
    "numpy.reciprocal": "NumPy's is an integer",
    "scipy.stats.multinomial.logpmf": "SciPy's is NaN where the chances do not sum to 1",
    "scipy.stats.multinomial.pmf": "SciPy's is NaN where the chances do not sum to 1",
    "numpy.trapezoid": "NumPy halves sums of bools that are bools",
}


def converted(array, dtype):
    with np.errstate(all="ignore"):
        if np.dtype(dtype).kind in "iu" and array.dtype.kind not in "biu":
            array = np.where(np.isfinite(array), array, 1).round().clip(0, 100)
        return array.astype(dtype)


def with_kinds(arrays, first, others):
    """The arrays, those of real numbers converted; None if that changes nothing, or there is nothing to mix."""
    places = [i for i, a in enumerate(arrays) if a.dtype.kind in "biuf" or a.dtype == ml_dtypes.bfloat16]
    if not places or (first != others and len(places) == 1):
        return None
    made = list(arrays)
    for i in places:
        made[i] = converted(arrays[i], first if i == places[0] else others)
    return made


def jax_results(row, apply, arrays):
    """Shapes and dtypes of JAX's results, or None if it refuses the call."""
    jax = pytest.importorskip("jax")
    function = row.function("jax")
    try:
        with checks.quiet():
            if row.concrete:
                found = apply(function, [jax.numpy.asarray(a) for a in arrays])
            else:
                structs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]
                found = jax.eval_shape(lambda *a: apply(function, list(a)), *structs)
    except Exception:
        return None
    return [(tuple(f.shape), f.dtype) for f in jax.tree.leaves(found) if hasattr(f, "dtype")]


def check(row, k, kind, compiled):
    """What is wrong with a call, or None."""
    made = checks.drawn(row, k)
    with checks.by_numpy():
        if checks.evaluated(row, made).refused is not None:
            return None
    arrays, apply = checks.split(made)
    arrays = with_kinds(arrays, *KINDS[kind])
    if arrays is None:
        return None
    call = checks.Call(*apply(lambda *args, **kwargs: (args, kwargs), arrays))
    with checks.by_numpy(not compiled):
        outcome = checks.evaluated(row, call)
    expected = jax_results(row, apply, arrays)
    if outcome.refused is not None:
        accepted = expected is not None and row.name not in REFUSED
        return f"{row.name}({call}): JAX accepts it; {outcome.refused}" if accepted else None
    found = [(f.shape, f.dtype) for f in checks.flat(outcome.value) if hasattr(f, "dtype")]
    if expected is not None and not row.static and row.name not in OTHER_DTYPES and found != expected:
        return f"{row.name}({call}): {found}, JAX has {expected}"
    return wrong_values(row, call, outcome.value)


def wrong_values(row, call, found):
    if row.oracle is None or row.name in OTHER_VALUES:
        return None
    if row.name.startswith("scipy.") and any(a.dtype.kind == "u" for a in checks.split(call)[0]):
        return None  # SciPy's differences of unsigned integers wrap
    try:
        with checks.quiet():
            expected = row.oracle(*call.args, **call.kwargs)
            checks.same(row, found, expected, call, "values")
    except checks.Difference as difference:
        return str(difference)
    except Exception:  # NumPy has no such call
        return None
    return None


@pytest.mark.parametrize("topic", TOPICS)
def test_operands_of_other_dtypes_give_what_jax_gives(topic):
    wrong = []
    for row in importlib.import_module(f"function_rows.{topic}").ROWS:
        if not row.like_jax or not checks.has_jax(row.name):
            continue
        # Three of the kinds for each function, one of them compiled; others in hunts.
        start = zlib.crc32(row.name.encode())
        for n in range(3 * checks.FUZZ):
            text = check(row, checks.draws(1)[0] + n // len(KINDS), list(KINDS)[(start + n) % len(KINDS)], n == 0)
            if text is not None:
                wrong.append(text)
                break
    assert "\n\n".join(wrong) == ""
