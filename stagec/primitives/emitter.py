"""Short names for the operations that lowering rules emit one by one."""

from __future__ import annotations

from typing import Any

from stagec.core import dtypes
from stagec.core.aval import ShapedArray


class Emitter:
    """Emits operations; the caller passes the aval of each result."""

    def __init__(self, cx: Any) -> None:
        self.cx = cx

    def __call__(self, name: str, aval: ShapedArray, *operands: Any, **attributes: str) -> Any:
        return self.cx.emit(f"stablehlo.{name}", operands, attributes or None, [aval])

    def compare(self, direction: str, x: Any, y: Any, aval: ShapedArray) -> Any:
        """A bool for each element of `aval`'s shape."""
        text = f"#stablehlo<comparison_direction {direction}>"
        return self("compare", aval.update(dtype=dtypes.bool_), x, y, comparison_direction=text)

    def fill(self, value: Any, aval: ShapedArray) -> Any:
        """A constant of `aval`."""
        return self.cx.constant(value, aval)
