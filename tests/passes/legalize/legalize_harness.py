"""Compile StableHLO after the legalization, run it on the CPU, measure ulps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import iree.runtime as runtime
import numpy as np
from iree.compiler import ir
from iree.compiler.api import Output, Session

import passes
from passes import bindings
from passes.legalize import PATTERNS_CPU

_FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-input-type=stablehlo",
    "--iree-input-demote-f64-to-f32=false",
    "--iree-llvmcpu-stack-allocation-limit=1048576",
)


class Compiled:
    """The functions of a module, after `PATTERNS_CPU`, each called by name."""

    def __init__(self, functions: Mapping[str, str]) -> None:
        session = Session()
        session.set_flags(*_FLAGS)
        bindings.prepare(session.context)
        with session.context:
            module = ir.Module.parse("module @module {\n" + "\n".join(functions.values()) + "\n}")
            passes.apply(module, PATTERNS_CPU)
        assert module.operation.verify()
        self.text = str(module)
        invocation = session.invocation()
        invocation.import_module(module.operation)
        assert invocation.execute(), "the compiler refused a legalized module"
        output = Output.open_membuffer()
        invocation.output_vm_bytecode(output)
        config = runtime.Config("local-sync")
        self.context = runtime.SystemContext(config=config)
        self.context.add_vm_module(runtime.VmModule.copy_buffer(self.context.instance, bytes(output.map_memory())))

    def __call__(self, name: str, *arrays: np.ndarray) -> np.ndarray:
        result = self.context.modules.module[name](*arrays)
        return np.array(result.to_host())


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
