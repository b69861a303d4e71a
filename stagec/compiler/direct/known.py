"""Code of kernels: that which is known, or else new."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Iterable, Mapping
from typing import Any

from passes.kernels.dispatch import Kernel
from passes.kernels.instructions import Instruction, Procedure
from stagec.compiler import kernel_cache, log
from stagec.compiler.direct import machine_code
from stagec.compiler.direct.object_file import Code
from stagec.compiler.direct.persistent import SYMBOL, source


def obtained(kernels: Mapping[str, Kernel], target: Mapping[str, str]) -> dict[str, Code]:
    """Code of each kernel, by its symbol.

    Raises:
      NotDirectError: as for `machine_code.generated`.
    """
    processor = machine_code.described(target)
    keys = {symbol: (_digest(kernel), *processor) for symbol, kernel in kernels.items()}
    found = {symbol: kernel_cache.find(key, Code.of_stored) for symbol, key in keys.items()}
    known = {symbol: code for symbol, code in found.items() if code is not None}
    missing = {symbol: kernel for symbol, kernel in kernels.items() if symbol not in known}
    made = machine_code.generated(missing, target) if missing else {}
    for symbol, code in made.items():
        kernel_cache.keep(keys[symbol], code, *code.stored())
    log.event("cache", "kernels", known=len(known), generated=len(made))
    return known | made


# By processor. It is no program's, so it stays as long as the process.
_persistent: dict[tuple[str, ...], Code] = {}


def persistent(target: Mapping[str, str]) -> Code:
    """The code that all persistent kernels share.

    Raises:
      NotDirectError: as for `machine_code.generated`.
    """
    processor = machine_code.described(target)
    code = _persistent.get(processor)
    if code is None:
        text = source(processor[0])
        key = (hashlib.sha256(text.encode()).hexdigest(), *processor)
        code = kernel_cache.find(key, Code.of_stored)
        if code is None:
            code = machine_code.of_text(text, SYMBOL, target)
            kernel_cache.keep(key, code, *code.stored())
        _persistent[processor] = code
    return code


# Of the program whose texts were asked for last.
_shown: dict[tuple[str, ...], tuple[str, str]] = {}


def texts(kernels: Mapping[str, Kernel], target: Mapping[str, str]) -> tuple[str, str]:
    """LLVM's IR and the assembly of kernels, one after the other; those that the program before had are not new.

    Raises:
      NotDirectError: as for `machine_code.generated`.
    """
    global _shown
    processor, shown = machine_code.described(target), {}
    for symbol, kernel in kernels.items():
        key = (symbol, _digest(kernel), *processor)
        shown[key] = _shown.get(key) or machine_code.texts({symbol: kernel}, target)
    _shown = shown
    (first, *others), assembly = zip(*shown.values())
    # Each begins with the processor.
    return "\n".join([first, *(text.partition("\n\n")[2] for text in others)]), "\n".join(assembly)


def _digest(kernel: Kernel) -> str:
    """Of all that the code of a kernel depends on, locations left out."""
    memory = [tuple(map(tuple, buffers)) for buffers in (kernel.inputs, kernel.outputs)]
    # The second version of this format has the same bytes for equal values.
    text = marshal.dumps((memory, kernel.blocks is None, *_texts(kernel.body)), 2)
    return hashlib.sha256(text).hexdigest()


def _texts(body: Iterable[Instruction]) -> list[Any]:
    """Instructions without locations, and with the procedures that they call, whose numbers the calls contain."""
    procedures: dict[Procedure, int] = {}
    rows = []
    for name, results, operands, types, details, _ in body:
        if name == "func.call":
            details = (procedures.setdefault(details[0], len(procedures)),)
        rows.append((name, results, operands, types, details))
    return [rows, *[(p.parameters, p.types, _texts(p.body), p.result) for p in procedures]]
