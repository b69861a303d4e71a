"""What the stages of a jitted function have in common: the signature that it was traced for."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.api.arguments import ShapeDtypeStruct
from stagec.api.traces import TracedSignature
from stagec.core import pytree
from stagec.core.copying import OwnCopy
from stagec.core.dims_terms import Size


@dataclasses.dataclass(frozen=True)
class ArgInfo:
    """An array among the arguments.

    Attributes:
      shape: its sizes along the axes.
      dtype: of its elements.
      donated: whether the program may reuse its memory.
    """

    shape: tuple[Size, ...]
    dtype: np.dtype[Any]
    donated: bool


@dataclasses.dataclass(frozen=True)
class MemoryStats:
    """The memory of one call, in bytes.

    Attributes:
      argument_size_in_bytes: of the arguments that the program takes, closed-over arrays among them.
      output_size_in_bytes: of the results that it computes.
      alias_size_in_bytes: of the results that are in the memory of donated arguments.
      temp_size_in_bytes: of what it allocates for the time of a call.
      generated_code_size_in_bytes: of the program itself.
      peak_memory_in_bytes: of arguments, results and temporary memory together.
    """

    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    temp_size_in_bytes: int
    generated_code_size_in_bytes: int

    @property
    def peak_memory_in_bytes(self) -> int:
        given, made = self.argument_size_in_bytes, self.output_size_in_bytes
        return given + made - self.alias_size_in_bytes + self.temp_size_in_bytes


def struct(aval: Any) -> ShapeDtypeStruct:
    """An aval as users see it."""
    return ShapeDtypeStruct(aval.shape, aval.dtype, aval.weak_type)


class Stage(OwnCopy):
    """A stage of a function that was traced for one signature."""

    _trace: TracedSignature

    @property
    def in_tree(self) -> pytree.PyTreeDef:
        """The structure of `(args, kwargs)`."""
        return pytree.structure(self._of_arguments([0] * len(self._avals)))

    @property
    def out_tree(self) -> pytree.PyTreeDef:
        """The structure of the results."""
        return self._trace.returned()

    @property
    def in_avals(self) -> Any:
        """Shapes and dtypes of `(args, kwargs)`, as `ShapeDtypeStruct`."""
        return self._of_arguments(list(map(struct, self._avals)))

    @property
    def args_info(self) -> Any:
        """An `ArgInfo` for each array in `(args, kwargs)`."""
        donated = self._trace.donated
        return self._of_arguments([ArgInfo(a.shape, a.dtype, i in donated) for i, a in enumerate(self._avals)])

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The numbers of the donated arrays among all in `(args, kwargs)`."""
        return tuple(sorted(self._trace.donated))

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the results, as a pytree of `ShapeDtypeStruct`."""
        return self._split_results([None] * len(self._trace.graph.out_avals))

    def _split_results(self, shardings: Sequence[Any]) -> Any:
        """The results, with how they are split along explicit axes, which are part of a type."""
        avals = self._trace.graph.out_avals[: self.out_tree.num_leaves]  # without those of references
        found = list(map(struct, avals))
        for each, sharding in zip(found, shardings):
            each.sharding = sharding if sharding is not None and sharding.mesh.explicit_axes else None
        return self.out_tree.unflatten(found)

    @property
    def _avals(self) -> list[Any]:
        return self._trace.graph.in_avals[len(self._trace.captured) :]

    def _of_arguments(self, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, kwargs = self._trace.in_tree.unflatten(leaves)
        return tuple(args), kwargs
