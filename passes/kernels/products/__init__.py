"""Matrix products as kernels: `stablehlo.dot_general`, with the elementwise operations that read its result."""

from __future__ import annotations

from typing import Any

from passes import bindings
from passes.kernels.dispatch import Kernel, Kernels
from passes.kernels.elements import ELEMENTS
from passes.kernels.processor import Processor
from passes.kernels.products import amx, dots, epilogue as epilogues, groups
from passes.kernels.products.grouped import Grouped
from passes.kernels.products.ordered import matrices
from passes.kernels.products.packing import Panels, packing
from passes.kernels.products.shapes import Product, read, sources
from passes.kernels.products.tiled import Tiled
from passes.kernels.products.tiles import Tiling, tiling
from passes.kernels.products.vectors import Vectors
from passes.kernels.writer import Writer
from passes.legalize.complex_products import four_products
from passes.types import tensor_type

__all__ = ["expand_complex", "form"]

# What writes a product of each form but `dots`.
_WRITERS: dict[str, Any] = {"tiled": Tiled, "pairs": Grouped, "amx": amx.Tiles}


def form(kernels: Kernels, processor: Processor) -> dict[str, int]:
    """Replace products by kernels where these are faster than the compiler's own code; returns their number."""
    count = 0
    expand_complex(kernels)
    written: dict[Any, Kernel] = {}
    tilings: dict[tuple[Product, bool], Tiling | None] = {}
    for op in kernels.found("stablehlo.dot_general"):
        product = read(op.opview)
        if product is None and (ordered := matrices(op)) is not None:
            op, product = ordered, read(ordered.opview)
        if product is None:
            kernels.plan.refuse("product", op.location, "element types or axes that kernels have no code for")
            continue
        operands = _operands(op, product)
        # A right operand that is the same at each call is packed before the first one, if it is packed at all.
        key = product, kernels.weights.is_weight(operands[1])
        if key not in tilings:
            tilings[key] = tiling(product, processor, key[1], kernels.alone)
        if (how := tilings[key]) is None:
            kernels.plan.refuse("product", op.location, "few columns, which the compiler's own code is better for")
        else:
            _form(kernels, processor, op, operands, product, how, written)
            count += 1
    return {"products": count} if count else {}


def expand_complex(kernels: Kernels) -> None:
    """Replace products of complex numbers by four of their parts, in place."""
    for op in kernels.found("stablehlo.dot_general"):
        with bindings.ir.InsertionPoint(op), op.location:
            made = four_products(op)
        if made is not None:
            op.results[0].replace_all_uses_with(made)
            op.erase()


def _form(
    kernels: Kernels,
    processor: Processor,
    op: Any,
    operands: tuple[Any, Any],
    product: Product,
    how: Tiling,
    written: dict[Any, Kernel],
) -> None:
    epilogue = epilogues.find(op, product)
    lhs, rhs = operands
    location = epilogues.location_of(epilogue, op)
    with bindings.ir.InsertionPoint(epilogues.last_operation(epilogue, op)), location:
        # Everything that the kernel's code depends on, apart from locations.
        key = product, how, epilogue.structure
        left, right = _copies(product, how)
        if left is not None:
            lhs = _packed(kernels, processor, product, left, lhs, op.location, written)
        if right is not None:
            rhs = _packed(kernels, processor, product, right, rhs, op.location, written)
        if key not in written:
            element = product.element if how.form in ("dots", "tiled") else "f32" if product.element == "f32" else "i32"
            vectors = Vectors(Writer(), element, how.lanes, processor)
            if how.form == "dots":
                written[key] = dots.kernel(product, how, vectors, epilogue, location)
            else:
                written[key] = _WRITERS[how.form](product, how, vectors, epilogue, left, right).kernel(location)
        kernel = written[key]
        types = [value.type for value in epilogue.results]
        made = kernels.dispatch(kernel, [lhs, rhs, *epilogue.operands], types)
        name = f"product {'x'.join(map(str, (*product.batch, product.m, product.n, product.k)))}, {how.form}"
        kernels.plan.accept(name, location, len(kernel.body) - 1, kernel.scratch)
    epilogues.replace(epilogue, made, op)


def _operands(op: Any, product: Product) -> tuple[Any, Any]:
    left, right = sources(op.opview)
    return (right, left) if product.exchanged else (left, right)


def _copies(product: Product, how: Tiling) -> tuple[Panels | groups.Groups | None, Panels | groups.Groups | None]:
    """The packed copies of the left and of the right operand; None for one that is read as it is."""
    left, right = product.lhs.transposed, product.rhs
    if how.form in ("amx", "pairs"):
        unit = 2 if how.form == "pairs" else ELEMENTS[left.element].size
        rows: Panels | groups.Groups = groups.Groups(left, product.m, product.k, groups.ROWS, unit, True)
        columns: Panels | groups.Groups = groups.Groups(right, product.n, product.k, how.width, unit, False)
    else:
        rows = Panels(left, product.m, product.k, how.rows)
        columns = Panels(right, product.n, product.k, how.width)
    return rows if how.pack_lhs else None, columns if how.pack_rhs == "ahead" else None


def _packed(
    kernels: Kernels,
    processor: Processor,
    product: Product,
    copy: Panels | groups.Groups,
    value: Any,
    location: Any,
    written: dict[Any, Kernel],
) -> Any:
    """The packed copy of an operand: made by a kernel that equal operands share, or before the first call."""
    element = product.element if isinstance(copy, Panels) else "i32"
    type_ = tensor_type((copy.size * product.batches,), _element(element))
    if kernels.weights.is_weight(value):
        return kernels.weights.packed(value, copy.layout(product.batch), type_)
    key = copy, product.batch, element
    if key not in written:
        vectors = Vectors(Writer(), element, processor.lanes(element), processor)
        written[key] = packing(copy, product.batch, product.batches, vectors, location)
    with location:
        return kernels.dispatch(written[key], [value], [type_])[0]


def _element(name: str) -> Any:
    return bindings.ir.Type.parse(name)
