"""Sums over an open first axis: a kernel that adds up strips of columns, for any number of rows."""

from __future__ import annotations

import math
from typing import Any

from passes import bindings
from passes.kernels.dispatch import NO_PIPELINE, OPEN_SIZES, Kernels, call, index_constant
from passes.kernels.processor import Processor
from passes.match import operations_in, producer, splat_of

# Vectors in a strip, which are added up at the same time.
_VECTORS = 4
_FLOATS = ("f32", "f64")


def form(module: Any, processor: Processor) -> int:
    """Replace sums of columns by kernels, in place; returns how many."""
    kernels = Kernels(module, dialects=OPEN_SIZES)
    found = [op for op in operations_in(module, "stablehlo.reduce") if _columns(op) >= processor.lanes("f32")]
    for op in found:
        _replace(kernels, processor, op)
    return len(found)


def _columns(op: Any) -> int:
    """How many columns an operation adds up over an open first axis, from 0 on; 0 if it does something else."""
    ir = bindings.ir
    if len(op.results) != 1 or list(op.attributes["dimensions"]) != [0] or splat_of(op.operands[1]) != 0:
        return 0
    combine, _ = (inner.operation for inner in op.regions[0].blocks[0].operations)
    type_ = ir.RankedTensorType(op.operands[0].type)
    result = ir.RankedTensorType(op.results[0].type)
    known = type_.is_dynamic_dim(0) and result.has_static_shape and str(type_.element_type) in _FLOATS
    return math.prod(result.shape) if known and combine.name == "stablehlo.add" else 0


def _replace(kernels: Kernels, processor: Processor, op: Any) -> None:
    ir = bindings.ir
    value, columns = op.operands[0], _columns(op)
    element = str(value.type.element_type)
    width = processor.lanes(element)
    # A product is computed in the kernel, where its addition rounds as in kernels for known shapes: together with it.
    product = producer(value, "stablehlo.multiply")
    values = [value] if product is None else list(product.operation.operands)
    symbol = kernels.insert("sums_of_columns", lambda name: _text(name, columns, element, width, len(values)))
    with ir.InsertionPoint(op), op.location:
        index = ir.IndexType.get()
        rows = ir.Operation.create("tensor.dim", [index], [values[0], index_constant(0)]).result
        (made,) = call(symbol, [op.results[0].type], [*values, rows], sizes=([rows] * len(values), ()))
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _text(symbol: str, columns: int, element: str, width: int, factors: int) -> str:
    """The kernel as a module: a workgroup for each strip of columns, and one for those that are left.

    Args:
      factors: how many arrays are multiplied before the rows are added up.
    """
    strip = _VECTORS * width
    strips, left = divmod(columns, strip)
    rest, offset = [], 0
    while offset < left:
        part = min(width, 1 << (left - offset).bit_length() - 1)
        rest.append((offset, part))
        offset += part
    whole = [(i * width, width) for i in range(_VECTORS)]
    groups = strips + bool(rest)
    if strips and rest:
        code = f"""%strips = arith.constant {strips} : index
        %is_whole = arith.cmpi ult, %group, %strips : index
        scf.if %is_whole {{
{_sums(whole, element, factors, "whole")}
        }} else {{
{_sums(rest, element, factors, "rest")}
        }}"""
    else:
        code = _sums(rest or whole, element, factors, "all")
    memory = f"memref<?x{element}>"
    inputs = ", ".join(f"%b{i}: !stream.binding" for i in range(factors))
    spans = "\n".join(
        f"        %in{i} = stream.binding.subspan %b{i}[%zero] : !stream.binding -> {memory}{{%size}}"
        for i in range(factors)
    )
    return f"""module {{
  stream.executable private @{symbol} {{
    stream.executable.export public @{symbol} workgroups() -> (index, index, index) {{
      %groups = arith.constant {groups} : index
      %one = arith.constant 1 : index
      stream.return %groups, %one, %one : index, index, index
    }}
    builtin.module {{
      func.func @{symbol}({inputs}, %rows: index, %result: !stream.binding)
          attributes {{translation_info = {NO_PIPELINE}}} {{
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %columns = arith.constant {columns} : index
        %strip = arith.constant {strip} : index
        %size = arith.muli %rows, %columns : index
{spans}
        %out = stream.binding.subspan %result[%zero] : !stream.binding -> {memory}{{%columns}}
        %group = stream.dispatch.workgroup.id[0] : index
        %first = arith.muli %group, %strip : index
        {code}
        return
      }}
    }}
  }}
}}
"""


def _sums(parts: list[tuple[int, int]], element: str, factors: int, prefix: str) -> str:
    """Code that adds up the rows of vectors, from the first row on, and stores the sums.

    Args:
      parts: the offset of each vector from the first column, and its length.
    """
    memory, kinds = f"memref<?x{element}>", [f"vector<{width}x{element}>" for _, width in parts]
    names = [f"%{prefix}{i}" for i in range(len(parts))]
    lines = [f"{n}_start = arith.constant dense<0.0> : {kind}" for n, kind in zip(names, kinds)]
    lines += [f"{n}_column = arith.constant {offset} : index" for n, (offset, _) in zip(names, parts)]
    lines += [f"{n}_at = arith.addi %first, {n}_column : index" for n in names]
    carried = ", ".join(f"{n} = {n}_start" for n in names)
    loop = f"scf.for %row = %zero to %rows step %one iter_args({carried}) -> ({', '.join(kinds)})"
    lines.append(f"%{prefix}:{len(parts)} = {loop} {{")
    lines.append("%begin = arith.muli %row, %columns : index")
    for n, kind in zip(names, kinds):
        lines += [
            f"{n}_index = arith.addi %begin, {n}_at : index",
            *(f"{n}_in{i} = vector.load %in{i}[{n}_index] : {memory}, {kind}" for i in range(factors)),
            f"{n}_product = arith.mulf {n}_in0, {n}_in1 : {kind}" if factors > 1 else "",
            f"{n}_sum = arith.addf {n}, {n}_{'product' if factors > 1 else 'in0'} : {kind}",
        ]
    lines += [f"scf.yield {', '.join(f'{n}_sum' for n in names)} : {', '.join(kinds)}", "}"]
    lines += [
        f"vector.store %{prefix}#{i}, %out[{n}_at] : {memory}, {kind}" for i, (n, kind) in enumerate(zip(names, kinds))
    ]
    return "\n".join(f"          {line}" for line in lines)
