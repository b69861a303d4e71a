"""The record of which operations became kernels, and why others did not: comments at the head of a module's text."""

from __future__ import annotations

from typing import Any

from passes import bindings, printed
from passes.errors import shown_file

ATTRIBUTE = "stagec.plan"


class Plan:
    """The decisions of one module, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._lines: dict[Any, str] = {}

    def accept(self, name: str, location: Any, lines: int, scratch: int) -> None:
        """Note a kernel: the lines of its text, and its bytes of scratch memory."""
        self.lines.append(f"{name}{self._at(location)}: a kernel of {lines} lines, {scratch} bytes of scratch")

    def refuse(self, name: str, location: Any, reason: str) -> None:
        """Note an operation that stays outside kernels, and the reason."""
        self.lines.append(f"{name}{self._at(location)}: stays outside ({reason})")

    def divide(self, name: str, location: Any, other: Any, reason: str) -> None:
        """Note an operation that reads another one's result, and why one kernel does not compute both."""
        other = self._at(other)
        self.lines.append(f"{name}{self._at(location)}: not in the kernel{other} that it reads from ({reason})")

    def _at(self, location: Any) -> str:
        """The user's line; of each location once, as it takes long to print."""
        if location.attr not in self._lines:
            found = printed.location(location)
            self._lines[location.attr] = f" ({shown_file(found.file)}:{found.line})" if found else ""
        return self._lines[location.attr]

    def attach(self, module: Any) -> None:
        """Keep the decisions with a module, as an attribute."""
        ir = bindings.ir
        if self.lines:
            with module.context:
                module.operation.attributes[ATTRIBUTE] = ir.ArrayAttr.get([ir.StringAttr.get(x) for x in self.lines])


def comments(module: Any) -> str:
    """The decisions attached to a module, as MLIR comments; removes them from the module."""
    attributes = module.operation.attributes
    if ATTRIBUTE not in attributes:
        return ""
    lines = [bindings.ir.StringAttr(line).value for line in attributes[ATTRIBUTE]]
    del attributes[ATTRIBUTE]
    return "".join(f"// {line}\n" for line in lines)
