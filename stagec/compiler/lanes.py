"""A workaround for LLVM's code generator for AMD GPUs, which crashes on some operations on vectors of one element."""

from __future__ import annotations

from typing import Any

from passes import printed
from passes.match import operations_in
from stagec.compiler.mlir import ir

# Operations whose result is not computed element by element.
_NOT_ELEMENTWISE = tuple(
    f"llvm.{name}"
    for name in "mlir. load store call inline_asm extractelement insertelement shufflevector intr.vector "
    "intr.masked atomicrmw cmpxchg".split()
)
# The name of the backend in the compiler.
_AMD = "rocm"


def scalarize(module: Any) -> int:
    """Replace operations on vectors of one element by operations on scalars, in kernels for AMD GPUs.

    LLVM's instruction selection for these GPUs crashes with a segmentation fault on some of the former, such as a
    rounding of a `vector<1xf64>` that was given the sign of another number.

    Args:
      module: at the compiler's phase `executable-targets`.

    Returns:
      The number of operations replaced.
    """
    variants = operations_in(module, "hal.executable.variant")
    kernels = [v for v in variants if printed.executable_target(v.attributes["target"]).backend == _AMD]
    # The scalar from which each vector is made.
    scalars: dict[Any, Any] = {}
    found = [op for kernel in kernels for op in operations_in(kernel) if _is_elementwise(op)]
    for op in found:
        with ir().InsertionPoint(op), op.location:
            operands = [_scalar(v, scalars) if _has_one_lane(v.type) else v for v in op.operands]
            kind = op.result.type
            attributes = {name: op.attributes[name] for name in op.attributes}
            scalar = ir().Operation.create(op.name, [kind.element_type], operands, attributes=attributes).result
            empty = ir().Operation.create("llvm.mlir.poison", [kind]).result
            vector = ir().Operation.create("llvm.insertelement", [kind], [empty, scalar, _zero()]).result
        scalars[vector] = scalar
        op.result.replace_all_uses_with(vector)
        op.erase()
    return len(found)


def _is_elementwise(op: Any) -> bool:
    return (
        op.name.startswith("llvm.")
        and not op.name.startswith(_NOT_ELEMENTWISE)
        and len(op.results) == 1
        and len(op.regions) == 0
        and _has_one_lane(op.result.type)
        and any(_has_one_lane(v.type) for v in op.operands)
    )


def _has_one_lane(kind: Any) -> bool:
    return str(kind).startswith("vector<1x")


def _scalar(vector: Any, scalars: dict[Any, Any]) -> Any:
    if vector in scalars:
        return scalars[vector]
    return ir().Operation.create("llvm.extractelement", [vector.type.element_type], [vector, _zero()]).result


def _zero() -> Any:
    kind = ir().IntegerType.get_signless(32)
    attributes = {"value": ir().IntegerAttr.get(kind, 0)}
    return ir().Operation.create("llvm.mlir.constant", [kind], attributes=attributes).result
