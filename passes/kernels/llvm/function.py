"""A function of LLVM IR that is being written."""

from __future__ import annotations

from typing import Any

from passes.kernels.llvm.types import lanes_of


class UntranslatedError(Exception):
    """An instruction of a kernel has no form in LLVM IR here; the message says which."""


class Function:
    """The text of one function, and what its values are called.

    Attributes:
      values: what stands for a value of the kernel: a name, or a constant.
      entry: what runs once, before all else: addresses of memory.
      lines: the rest. None stands for a line that is written when the values that it takes are known.
      block: the label of the basic block that is being written.
      regions: those that are open, innermost last.
      yielded: the values that the last region passed on.
    """

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.entry: list[str] = []
        self.lines: list[Any] = []
        self.block = "entry"
        self.regions: list[Any] = []
        self.yielded: list[str] = []
        self._count = 0

    def fresh(self) -> str:
        """A name that is not in use yet."""
        self._count += 1
        return f"%v{self._count}"

    def let(self, text: str) -> str:
        """An instruction with a result, whose name is returned."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"{name} = {text}")
        return name

    def call(self, intrinsic: str, result: str, *operands: tuple[str, str], flags: str = "") -> str:
        """A call of an intrinsic of LLVM's, without the types in its name; its operands have types before them."""
        given = ", ".join(f"{type_} {value}" for type_, value in operands)
        return self.let(f"call {flags}{result} @llvm.{intrinsic}({given})")

    def address(self, buffer: str, index: str, element: str, inbounds: str = "inbounds ") -> str:
        """The address of an element of a buffer of the kernel."""
        return self.let(f"getelementptr {inbounds}{element}, ptr {self.values[buffer]}, i64 {self.values[index]}")

    def label(self) -> int:
        """A number for the labels of blocks."""
        self._count += 1
        return self._count

    def start(self, block: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{block}:")
        self.block = block

    def spread(self, value: str, type_: str, vector: str) -> str:
        """A vector of one value, which is no constant."""
        first = self.let(f"insertelement {vector} poison, {type_} {value}, i64 0")
        return self.let(f"shufflevector {vector} {first}, {vector} poison, <{lanes_of(vector)} x i32> zeroinitializer")
