"""The StableHLO of a primitive does not depend on the backend."""

from __future__ import annotations

import pytest
from test_registry import Case, bundles

import stagec
from stagec.backends import BACKENDS
from stagec.compiler import mlir
from stagec.core.primitive import Primitive

CASES = [case for bundle in bundles(6, 25) for case in bundle]


def texts(case: Case) -> set[str]:
    """What a case is lowered to for each backend."""
    mlir.load()
    from stagec.lowering.lower import lower

    traced = stagec.jit(lambda args: Primitive.registry[case.name](*args, **case.params)).trace(list(case.args))
    return {str(lower(traced._trace.graph, backend=backend)) for backend in BACKENDS.values()}


@pytest.mark.parametrize("name", sorted({case.name for case in CASES}))
def test_a_primitive_is_lowered_to_one_text_for_all_backends(name: str) -> None:
    with stagec.enable_x64():
        assert all(len(texts(case)) == 1 for case in CASES if case.name == name)
