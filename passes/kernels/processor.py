"""The processor model that kernels depend on: registers, vectors, instructions and caches."""

from __future__ import annotations

import dataclasses

from passes.kernels.elements import ELEMENTS

# The element types that extensions of AMX multiply.
_MATRICES = {"amx_bf16": ("bf16",), "amx_int8": ("i8", "ui8")}


@dataclasses.dataclass(frozen=True)
class Processor:
    """A model of one core, and the number of cores.

    Nothing is measured on the machine that compiles: equal targets give equal
    code, and equal code adds up sums in the same order.

    Attributes:
      vector_bytes: bytes in a vector register.
      registers: vector registers that code can name.
      fused: whether a multiply-add is one instruction.
      halves: whether float16 is converted by an instruction.
      masked: whether a vector can be loaded and stored in part at no cost.
      loads: vectors that can be loaded in a cycle.
      matrices: element types that a matrix unit multiplies (see `products/amx.py`).
      pairs: element types for which an instruction multiplies pairs along a sum (see `products/grouped.py`).
      sums_pairs: whether that instruction also adds the products of integers to the sum.
      l1, l2: bytes of a core's own caches.
      cores: the number of cores for which work is split; fixed, so that sums do not depend on the machine.
      joins: whether kernels that follow one another can be one dispatch, so that threads do not sleep between them.
      is_portable: whether other processors compute the same bits, on which the number of registers must have no
        influence.
    """

    vector_bytes: int = 16
    registers: int = 16
    fused: bool = False
    halves: bool = False
    masked: bool = False
    loads: int = 2
    matrices: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()
    sums_pairs: bool = False
    l1: int = 32 << 10
    l2: int = 1 << 20
    cores: int = 8
    joins: bool = False
    is_portable: bool = False

    def lanes(self, element: str) -> int:
        """The number of elements of a type in a vector.

        >>> Processor(vector_bytes=32).lanes("f64")
        4
        """
        return self.vector_bytes // ELEMENTS[element].size

    @property
    def portable(self) -> Processor:
        """The model for results with the same bits on all processors.

        Vectors have 64 bytes, of which each of several narrower registers holds a part, and nothing is rounded once
        that other processors round twice. Conversions of float16, and sums of integers in any order, are exact.

        >>> Processor(vector_bytes=32, registers=16).portable.registers
        8
        """
        integers = frozenset(("i8", "ui8", "i16"))
        return dataclasses.replace(
            self,
            vector_bytes=64,
            registers=max(4, self.registers * self.vector_bytes // 64),
            fused=False,
            matrices=self.matrices & integers,
            pairs=self.pairs & integers,
            joins=False,
            is_portable=True,
        )

    @classmethod
    def of(cls, machine: str, features: frozenset[str]) -> Processor:
        """The model of an architecture with these features, in the Linux kernel's spelling.

        >>> Processor.of("x86_64", frozenset({"avx2", "fma"})).vector_bytes
        32
        >>> Processor.of("aarch64", frozenset()).registers
        32
        """
        if machine == "aarch64":
            return cls(vector_bytes=16, registers=32, fused=True, halves=True, joins=True)
        if machine == "riscv64":
            # Without vectors: each takes four of the 32 registers of floats.
            return cls(vector_bytes=16, registers=8, fused=True)
        if {"avx512f", "avx512vl", "avx512dq", "avx512bw"} <= features:
            matrices = {element for name, elements in _MATRICES.items() if name in features for element in elements}
            if "amx_tile" not in features:
                matrices = set()
            pairs = {"i8", "ui8", "i16"}
            # With a matrix unit, multiplying pairs takes as long as widening them.
            if "avx512_bf16" in features and "bf16" not in matrices:
                pairs |= {"bf16"}
            return cls(
                *(64, 32, True, True, True),
                matrices=frozenset(matrices),
                pairs=frozenset(pairs),
                sums_pairs="avx512_vnni" in features,
                joins=True,
            )
        if "avx2" in features:
            return cls(vector_bytes=32, registers=16, fused="fma" in features, halves="f16c" in features, joins=True)
        return cls(joins=machine == "x86_64")
