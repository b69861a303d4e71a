"""Avals as MLIR types, attributes from text: parsed once for each context."""

from __future__ import annotations

from typing import Any

import numpy as np

from passes import bindings
from passes.types import element_type
from stagec.core.aval import ShapedArray
from stagec.core.dims import is_open
from stagec.core.dtypes import carried


class Types:
    """The types, attributes and locations of one MLIR context."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self._elements: dict[Any, Any] = {}
        self._tensors: dict[ShapedArray, Any] = {}
        self._attributes: dict[str, Any] = {}
        self._locations: dict[Any, Any] = {}
        self.unknown = bindings.ir.Location.unknown(context)

    def element(self, dtype: np.dtype[Any]) -> Any:
        found = self._elements.get(dtype)
        if found is None:
            with self.context:
                found = self._elements[dtype] = element_type(carried(dtype))
        return found

    def tensor(self, aval: ShapedArray) -> Any:
        found = self._tensors.get(aval)
        if found is None:
            dynamic = bindings.ir.ShapedType.get_dynamic_size()
            shape = [dynamic if is_open(n) else n for n in aval.shape]
            found = bindings.ir.RankedTensorType.get(shape, self.element(aval.dtype), loc=self.unknown)
            self._tensors[aval] = found
        return found

    def attribute(self, text: Any) -> Any:
        if not isinstance(text, str):
            return text
        found = self._attributes.get(text)
        if found is None:
            found = self._attributes[text] = bindings.ir.Attribute.parse(text, self.context)
        return found

    def location(self, line: Any) -> Any:
        found = self._locations.get(line)
        if found is None:
            ir = bindings.ir
            file = ir.Location.file(line.file, line.line, 0, self.context)
            found = self._locations[line] = ir.Location.name(line.name, file, self.context)
        return found
