"""`STAGEC_DUMP=dir`: every stage of every compile, as files."""

from __future__ import annotations

import os
import warnings
from typing import Any

from stagec.backends import Target
from stagec.compiler import log
from stagec.compiler.flags import CompileOptions
from stagec.core.config import config
from stagec.core.errors import CacheWarning, message
from stagec.core.graph import Graph
from stagec.core.graph_text import format_graph, user_line


def module_text(module: Any, locations: bool = True) -> str:
    """MLIR text, with the user's lines in it."""
    return str(module.operation.get_asm(enable_debug_info=locations, pretty_debug_info=False))


class Dump:
    """The folder `dir/name-key` of one compile; with no directory, or an unwritable one, it writes nothing."""

    def __init__(self, name: str, digest: str, graph: Graph, module: Any) -> None:
        safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
        self.directory = os.path.join(os.path.expanduser(config.dump), f"{safe}-{digest[:12]}")
        self._count = 0
        self._on = bool(config.dump)
        self._write("graph.txt", f"{format_graph(graph, comment=user_line)}\n" if self._on else "")
        self._write_module("stablehlo.mlir", module)

    def _write(self, name: str, text: str) -> None:
        if not self._on:
            return
        path = os.path.join(self.directory, name)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        # A dump that cannot be written must not make the call fail.
        self._on = False
        what = f"the stages cannot be dumped: {error.strerror or type(error).__name__}"
        text = message(what, where=self.directory, fix="set STAGEC_DUMP to a writable directory")
        warnings.warn(text, CacheWarning, stacklevel=2)

    def _write_module(self, name: str, module: Any) -> None:
        if self._on:
            self._write(name, module_text(module))

    def after_pass(self, name: str, module: Any) -> None:
        """Write the module as a pass left it."""
        self._write_module(os.path.join("passes", f"{self._count:02}-{name}.mlir"), module)
        self._count += 1

    def finish(self, module: Any, target: Target, report: Any, options: CompileOptions) -> None:
        """Write the optimized module, the compiler's phases, and the assembly."""
        self._write_module("optimized.mlir", module)
        self._write("passes.txt", f"{report}\n")
        if self._on:
            from stagec.compiler import stages  # takes milliseconds to import, which only dumps need

            try:
                stages.dump_all(module, target, os.path.join(self.directory, "iree"), options)
            except OSError as error:
                self._fail(error)
            log.event("compile", f"dumped to {self.directory}")
