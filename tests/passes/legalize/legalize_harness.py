"""Compile StableHLO after the legalization, run it on the CPU, measure ulps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from passes import bindings
from passes.types import numpy_dtype
from stagec.backends import Target
from stagec.compiler import build, driver
from stagec.core.aval import ShapedArray
from stagec.runtime.executable import Executable


class Compiled:
    """Functions of tensors, each called by name.

    They are one program: a call of one computes the others too, from zeros.

    Args:
      functions: their texts. They are called by the names in the texts.
      kernels: whether CPU kernels of stagec's own may take the place of operations.
    """

    def __init__(self, functions: Mapping[str, str], kernels: bool = True) -> None:
        module = bindings.ir.Module.parse("\n".join(functions.values()), bindings.new_context())
        found = {f.attributes["sym_name"].value: f.attributes["function_type"].value for f in module.body.operations}
        self._inputs = {name: [_aval(type_) for type_ in f.inputs] for name, f in found.items()}
        results = [_aval(type_) for f in found.values() for type_ in f.results]
        module = bindings.ir.Module.parse(_main(found) + _private(functions.values()), module.context)
        bindings.passmanager.PassManager.parse("builtin.module(inline)", module.context).run(module.operation)
        options = build.ProgramOptions(Target.parse("cpu"), kernels=kernels)
        build.optimize(module, options)
        self.text = str(module)
        compiled = driver.compile_module(module, options.target, options=options.of_compiler())
        self._program = Executable(
            np.frombuffer(compiled.vmfb, np.uint8),
            [aval for avals in self._inputs.values() for aval in avals],
            results,
            traits=compiled.traits,
        )

    def __call__(self, name: str, *arrays: np.ndarray) -> np.ndarray:
        zeros = {each: [np.zeros(aval.shape, aval.dtype) for aval in avals] for each, avals in self._inputs.items()}
        results = self._program.run([array for given in (zeros | {name: arrays}).values() for array in given])
        return np.array(results[list(self._inputs).index(name)])


def _aval(type_: Any) -> ShapedArray:
    return ShapedArray(tuple(type_.shape), numpy_dtype(type_.element_type))


def _private(functions: Iterable[str]) -> str:
    return "\n".join(text.replace("func.func @", "func.func private @") for text in functions)


def _main(functions: Mapping[str, Any]) -> str:
    """A function that calls all the others, with the operands and results of all."""
    parameters, lines, returned = [], [], []
    for number, (name, type_) in enumerate(functions.items()):
        values = [f"%a{number}_{k}" for k in range(len(type_.inputs))]
        parameters += [f"{value}: {each}" for value, each in zip(values, type_.inputs)]
        lines.append(f"%r{number} = func.call @{name}({', '.join(values)}) : {type_}")
        returned.append((f"%r{number}", str(type_.results[0])))
    names, types = (", ".join(column) for column in zip(*returned))
    body = "\n".join(lines)
    return f"func.func @main({', '.join(parameters)}) -> ({types}) {{\n{body}\nreturn {names} : {types} }}\n"


def unary(name: str, op: str, source: str, target: str, size: int, attributes: str = "") -> str:
    """A function of one op with one operand."""
    types = f"(tensor<{size}x{source}>) -> tensor<{size}x{target}>"
    return (
        f"func.func @{name}(%a: tensor<{size}x{source}>) -> tensor<{size}x{target}> {{"
        f' %0 = "{op}"(%a) {attributes} : {types} return %0 : tensor<{size}x{target}> }}'
    )


def binary(name: str, op: str, element: str, size: int) -> str:
    """A function of one op with two operands."""
    t = f"tensor<{size}x{element}>"
    return f'func.func @{name}(%a: {t}, %b: {t}) -> {t} {{ %0 = "{op}"(%a, %b) : ({t}, {t}) -> {t} return %0 : {t} }}'


def real_sample(dtype: Any) -> np.ndarray:
    """About two thousand numbers: dense near zero, wide, and the special ones; nothing subnormal."""
    rng = np.random.default_rng(0)
    info = np.finfo(dtype)
    special = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1,
        -1,
        0.5,
        -0.5,
        2,
        -2,
        3,
        -3,
        1.5,
        -1.5,
        100,
        -100,
        np.pi,
        np.pi / 2,
    ]
    special += [float(info.max), float(info.min), float(info.tiny), float(info.eps), -float(info.eps), 1e-5, -1e-5]
    special += [1 - float(info.eps), 1 + float(info.eps), -1 + float(info.eps), 2.0**20, 1e6, -1e8, 709.0, -708.0, 88.0]
    spread = rng.normal(size=300) * 10.0 ** rng.uniform(-6, 6, 300)
    values = np.concatenate(
        [special, rng.uniform(-1, 1, 800), rng.uniform(-12, 12, 800), rng.uniform(-700, 700, 200), spread]
    )
    return values.astype(dtype)


def ulps(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Distance to the extended-precision `expected` in units of its last place; infinite where NaN or infinity differ.

    Where the exact result is below the normal range any flushed result is right.
    """
    info = np.finfo(actual.dtype)
    wide = actual.astype(np.longdouble)
    with np.errstate(all="ignore"):
        rounded = expected.astype(actual.dtype).astype(np.longdouble)
        magnitude = np.where(np.isfinite(expected) & (expected != 0), np.abs(expected), 1)
        unit = np.ldexp(np.longdouble(1), np.maximum(np.frexp(magnitude)[1], info.minexp + 1) - (info.nmant + 1))
        distance = np.abs(wide - expected) / unit
    same = (wide == rounded) | (np.isnan(wide) & np.isnan(expected))
    flushed = (np.abs(expected) < 2 * info.tiny) & (np.abs(wide) <= 2 * info.tiny)
    distance = np.where(same | flushed, 0, distance)
    different = (np.isnan(wide) != np.isnan(expected)) | (np.isinf(wide) != np.isinf(rounded))
    return np.where(different & ~flushed, np.inf, distance)


def worst(actual: np.ndarray, expected: np.ndarray, *inputs: np.ndarray) -> tuple[float, str]:
    """The largest error in ulps and a line that reproduces it."""
    distance = ulps(actual, expected)
    at = int(np.argmax(distance))
    arguments = ", ".join(repr(x[at]) for x in inputs)
    return float(distance[at]), f"({arguments}): got {actual[at]!r}, want {expected[at]!r}"


def edges(dtype: Any) -> np.ndarray:
    """Integers at which arithmetic goes wrong."""
    info = np.iinfo(dtype)
    values = {info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 100, info.bits - 1, info.bits, 64}
    values |= {-1, -2, -3, -7} if info.min < 0 else set()
    return np.array(sorted(v for v in values if v <= info.max), dtype=object).astype(dtype)


def pairs(values: np.ndarray) -> Sequence[np.ndarray]:
    """Every pair of `values`, as two flat arrays."""
    return [part.ravel() for part in np.meshgrid(values, values)]
