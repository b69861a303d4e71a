"""Python functions under transformations: how a batch calls them, and that they have no derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.api.gradients import grad
from stagec.core import errors
from stagec.experimental import io_callback
from stagec.transforms.batch import batch_front
from stagec.transforms.jvp import jvp_flat

X = np.arange(6, dtype=np.float32).reshape(3, 2)
Y = np.float32([10, 20])


def vmapped(f: Any, *values: Any, dims: Any) -> Any:
    return batch_front(lambda *xs: [f(*xs)], values, dims, 3)[0]


def call(method: str | None, seen: list[Any]) -> Any:
    def add(x: Any, y: Any) -> Any:
        seen.append((np.shape(x), np.shape(y)))
        return np.asarray(x) + np.asarray(y)

    return lambda x, y: stagec.pure_callback(add, stagec.ShapeDtypeStruct((2,), "float32"), x, y, vmap_method=method)


@pytest.mark.parametrize(
    ("method", "shapes"),
    [
        ("sequential", [((2,), (2,))] * 3),
        ("sequential_unrolled", [((2,), (2,))] * 3),
        ("expand_dims", [((3, 2), (1, 2))]),
        ("broadcast_all", [((3, 2), (3, 2))]),
        ("legacy_vectorized", [((3, 2), (2,))]),
    ],
)
def test_vmap_method_says_with_what_shapes_the_function_is_called(method: str, shapes: Any) -> None:
    seen: list[Any] = []
    out = vmapped(call(method, seen), X.T.copy(), Y, dims=(1, None))
    assert np.array_equal(out, X + Y)
    assert seen == shapes


def test_a_batched_call_runs_inside_a_program() -> None:
    seen: list[Any] = []
    out = stagec.jit(lambda x: vmapped(call("sequential", seen), x, Y, dims=(0, None)) * 2)(X)
    assert np.array_equal(out, (X + Y) * 2)
    assert seen == [((2,), (2,))] * 3


def test_batches_of_batches_call_for_each_element() -> None:
    seen: list[Any] = []
    f = call("sequential", seen)
    out = vmapped(lambda x: vmapped(f, x, Y, dims=(0, None)), np.stack([X] * 3), dims=(0,))
    assert np.array_equal(out, np.stack([X + Y] * 3))
    assert len(seen) == 9


def test_a_batch_without_a_method_is_an_error_that_names_the_methods() -> None:
    with pytest.raises(errors.UnsupportedError, match="vmap_method='sequential'"):
        vmapped(call(None, []), X, Y, dims=(0, None))


def test_wrong_results_of_a_batched_call_name_the_function() -> None:
    shape = stagec.ShapeDtypeStruct((), "float32")

    def short(x: Any) -> Any:
        return np.float32(1)

    with pytest.raises(errors.CallbackError, match=r"short .*returned float32\[\] where float32\[3\] was promised"):
        vmapped(lambda x: stagec.pure_callback(short, shape, x, vmap_method="expand_dims"), X, dims=(0,))


def test_unordered_effects_happen_for_each_element() -> None:
    seen: list[Any] = []

    def note(x: Any) -> Any:
        seen.append(np.asarray(x).tolist())
        return np.float32(len(seen))

    shape = stagec.ShapeDtypeStruct((), "float32")
    out = vmapped(lambda x: io_callback(note, shape, x), X, dims=(0,))
    assert np.asarray(out).tolist() == [1, 2, 3]
    assert seen == X.tolist()


def test_ordered_effects_have_no_batch() -> None:
    with pytest.raises(errors.UnsupportedError, match="cannot vmap an ordered io_callback"):
        vmapped(lambda x: io_callback(lambda v: None, None, x, ordered=True) or x, X, dims=(0,))


def test_debug_callbacks_see_values_under_derivatives_and_batches() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        stagec.debug.callback(lambda v: seen.append(float(v)), x)
        return x * x

    assert float(grad(f)(3.0)) == 6.0
    assert np.asarray(vmapped(f, np.float32([1, 2, 3]), dims=(0,))).tolist() == [1, 4, 9]
    assert seen == [3.0, 1.0, 2.0, 3.0]


def test_callbacks_have_no_derivative_and_say_what_to_do() -> None:
    f = call("sequential", [])
    with pytest.raises(errors.UnsupportedError, match="custom_jvp"):
        jvp_flat(lambda x: [f(x, Y)], [Y], [Y])
    with pytest.raises(errors.UnsupportedError, match="io_callback cannot be differentiated"):
        grad(lambda x: io_callback(lambda v: v, stagec.ShapeDtypeStruct((), "float32"), x))(1.0)


def test_callbacks_of_constants_stand_beside_derivatives() -> None:
    f = call("sequential", [])
    assert np.asarray(grad(lambda x: snp.sum(x * f(Y, Y)))(Y)).tolist() == [20, 40]
