"""`STAGEC_DUMP=dir`: every stage of every compile, as files."""

from __future__ import annotations

import os
from typing import Any

from stagec.compiler import log, stages
from stagec.compiler.targets import Target
from stagec.core.config import config
from stagec.core.graph import Graph


def module_text(module: Any, locations: bool = True) -> str:
    """MLIR text, with the user's lines in it."""
    return str(module.operation.get_asm(enable_debug_info=locations, pretty_debug_info=False))


class Dump:
    """The folder `dir/name-key` of one compile."""

    def __init__(self, name: str, digest: str, graph: Graph, module: Any) -> None:
        safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
        self.directory = os.path.join(os.path.expanduser(config.dump), f"{safe}-{digest[:12]}")
        os.makedirs(os.path.join(self.directory, "passes"), exist_ok=True)
        self._count = 0
        self._write("graph.txt", str(graph) + "\n")
        self._write("stablehlo.mlir", module_text(module))

    def _write(self, name: str, text: str) -> None:
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
            file.write(text)

    def after_pass(self, name: str, module: Any) -> None:
        self._write(os.path.join("passes", f"{self._count:02}-{name}.mlir"), module_text(module))
        self._count += 1

    def finish(self, module: Any, target: Target, report: Any) -> None:
        """Write the optimized module, the compiler's phases, and the assembly."""
        self._write("optimized.mlir", module_text(module))
        self._write("passes.txt", f"{report}\n")
        stages.dump_all(module, target, os.path.join(self.directory, "iree"))
        log.event("compile", f"dumped to {self.directory}")
