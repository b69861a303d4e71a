"""Arguments that are the same at each call: their packed copies are made once, before the first call.

A program takes a packed copy as an additional argument, after the others. An attribute of the module describes how the
caller makes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from passes import bindings
from passes.match import functions, producer

ATTRIBUTE = "stagec.packed"


class Layout(NamedTuple):
    """How to make a packed copy of an array.

    Attributes:
      shape: the matrices of the array: batches, then the summed axis, then the axis that is cut into panels.
      strides: the strides of these axes, in elements.
      width: the columns of a panel.
      group: how many elements form one element of the copy; 0 if each is converted on its own.
      lines: whether the groups of each column follow one another.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    width: int
    group: int = 0
    lines: bool = False


class Weights:
    """The arguments of a module's `main` that are the same at each call, and packed copies of them.

    Args:
      module: the module.
      positions: the indices of these arguments.
    """

    def __init__(self, module: Any, positions: Iterable[int] = ()) -> None:
        self.module, self.positions = module, frozenset(positions)
        self._made: dict[str, Any] = {}

    def is_weight(self, value: Any) -> bool:
        """Whether a value is such an argument, perhaps reshaped."""
        return self._argument(value) is not None

    def _argument(self, value: Any) -> int | None:
        if not self.positions:
            return None
        reshape = producer(value, "stablehlo.reshape")
        while reshape is not None:
            value = reshape.operation.operands[0]
            reshape = producer(value, "stablehlo.reshape")
        if value.owner != self._block():
            return None
        number = bindings.ir.BlockArgument(value).arg_number
        return number if number in self.positions else None

    def _function(self) -> Any:
        return functions(self.module)["main"]

    def _block(self) -> Any:
        return self._function().regions[0].blocks[0]

    def packed(self, value: Any, layout: Layout, type_: Any) -> Any:
        """The packed copy of such an argument: an additional argument, one for each layout."""
        element, size = str(type_.element_type), type_.shape[0]
        key = json.dumps({"argument": self._argument(value), "element": element, **layout._asdict(), "size": size})
        if key not in self._made:
            self._made[key] = self._new_argument(type_)
        return self._made[key]

    def shared_with(self, other: Weights) -> list[Any]:
        """The packed copies that a module for the same arguments takes, as additional arguments of this one."""
        for key, value in other._made.items():
            if key not in self._made:
                with self.module.context:
                    self._made[key] = self._new_argument(bindings.ir.Type.parse(str(value.type)))
        return [self._made[key] for key in other._made]

    def _new_argument(self, type_: Any) -> Any:
        ir = bindings.ir
        function, block = self._function(), self._block()
        with self.module.context:
            made = block.add_argument(type_, ir.Location.unknown())
            kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
            inputs = [*kind.inputs, type_]
            function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, kind.results))
            if "arg_attrs" in function.attributes:
                given = [*function.attributes["arg_attrs"], ir.DictAttr.get({})]
                function.attributes["arg_attrs"] = ir.ArrayAttr.get(given)
        return made

    def attach(self) -> None:
        """Attach the descriptions of the additional arguments to the module, in their order."""
        if self._made:
            ir = bindings.ir
            with self.module.context:
                rows = [ir.StringAttr.get(row) for row in self._made]
                self.module.operation.attributes[ATTRIBUTE] = ir.ArrayAttr.get(rows)


def packed_arguments(module: Any) -> list[dict[str, Any]]:
    """The descriptions of a module's additional arguments, after kernels were formed."""
    attributes = module.operation.attributes
    rows = attributes[ATTRIBUTE] if ATTRIBUTE in attributes else ()  # noqa: SIM401  (no `get` in these bindings)
    return [json.loads(bindings.ir.StringAttr(row).value) for row in rows]
