"""Direct compilation of modules that hold nothing but kernels written by stagec and callbacks.

The compiler's pipelines for whole programs take three quarters of the time of a small compile, and have nothing to do
for such a module. So LLVM generates machine code for the kernels only, through llvmlite where it is installed and
through the compiler elsewhere; they are linked here, and the host program is written in the instructions of IREE's
virtual machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from passes.kernels.dispatch import Kernel
from passes.printed import PrintedError
from stagec.compiler import log, scratch
from stagec.compiler.diagnostics import Attempt, Diagnostic
from stagec.compiler.direct import host, known, library, linker, machine_code, machines, persistent, reading
from stagec.compiler.direct.joining import joined, kernels_of
from stagec.compiler.direct.memory import assign_memory
from stagec.compiler.direct.object_file import function
from stagec.compiler.direct.parts import Item, parted
from stagec.compiler.direct.program import NotDirectError as NotDirectError, Program
from stagec.compiler.direct.reading import is_direct as is_direct
from stagec.compiler.flags import FlagSet
from stagec.compiler.invocation import invocation, invoked
from stagec.compiler.mlir import ir
from stagec.compiler.session import kept_session
from stagec.runtime import interruptible

if TYPE_CHECKING:
    from stagec.compiler.ready import Ready


@interruptible.function
def run(formed: Ready, flag_set: FlagSet, asynchronous: bool, joins: bool = True) -> tuple[bytes, Attempt, bool, bool]:
    """Compile a module of kernels.

    Args:
      formed: the module.
      flag_set: a name for the attempt, and the compiler's flags.
      asynchronous: whether results are signalled by a fence.
      joins: whether kernels that wait for one another become one dispatch.

    Returns:
      the program (empty if the module is not one of kernels alone, or the compiler refuses it), a record, whether a
      result may be the memory of an argument or of another result, and whether arguments may lie anywhere in memory.

    Raises:
      NotDirectError: the module is not one of kernels alone, and has to be reproducible.
    """
    started = time.perf_counter()
    output, reasons, may_alias, anywhere = b"", [], True, False
    try:
        output, may_alias, anywhere = _compiled(formed, flag_set, asynchronous, joins)
    except NotDirectError as error:
        if flag_set.reproducible:
            raise
        reasons.append(Diagnostic("error", str(error)))
    except PrintedError:  # the release of the compiler is not the one that stagec knows
        raise
    except Exception as error:  # a fault of stagec's, which compilation through all phases does not have
        log.event("compile", f"no direct compilation: {type(error).__name__}: {error}")
        reasons.append(Diagnostic("error", "a fault of stagec's"))
    attempt = Attempt(flag_set.name, time.perf_counter() - started, bool(output), tuple(reasons))
    return output, attempt, may_alias, anywhere


def _compiled(formed: Ready, flag_set: FlagSet, asynchronous: bool, joins: bool) -> tuple[bytes, bool, bool]:
    program = reading.read(formed.module)
    if asynchronous and program.host_calls:
        raise NotDirectError("a callback of a program that runs while Python goes on")
    kernels = library.described(program, _written(formed))
    target = library.target(flag_set.flags, flag_set.reproducible) if kernels else {}
    layout = assign_memory(program)
    items = parted(program, layout)
    together = joined(items, program, layout, dict(kernels), not asynchronous) if joins else items
    libraries = _own_library(kernels, together, _written(formed), target, flag_set.reproducible) if kernels else []
    if libraries:
        items = together
    own = bool(libraries) or not kernels  # whose loads and stores are aligned to elements
    if not own:
        libraries = [_library(formed, program, kernels, target, flag_set.flags)]
    text = host.text(program, layout, items, libraries, asynchronous).encode()
    with kept_session(len(text)) as session, invoked(session) as run:
        _check(run.parse(text), run.found)
        return run.bytecode(), program.may_alias, own


def memory_usage(formed: Ready) -> tuple[int, int] | None:
    """The bytes that a call of a module of kernels allocates for its own time, and those of results in the memory of
    arguments; None for other modules.
    """
    try:
        program = reading.read(formed.module)
    except NotDirectError:
        return None
    layout = assign_memory(program)
    ranges = {layout.ranges[n] for n in program.returned}
    aliased = sum(r.bytes for r in ranges if 0 <= r.slot < len(program.arguments))
    return sum(layout.allocated[slot] for slot in layout.deallocated), aliased


def code(formed: Ready, flag_set: FlagSet, together: bool = True) -> tuple[str, str]:
    """LLVM's IR and the assembly of a module's kernels, where LLVM itself generates their code; else nothing.

    Args:
      together: whether they are one module for LLVM; otherwise kernels that are known are not compiled again.
    """
    texts = machine_code.texts if together else known.texts
    try:
        kernels = library.described(reading.read(formed.module), _written(formed))
        target = library.target(flag_set.flags, flag_set.reproducible) if kernels else {}
        return texts(_called(kernels, _written(formed)), target) if kernels else ("", "")
    except NotDirectError:
        return "", ""


def _written(formed: Ready) -> Mapping[str, Kernel]:
    return {} if formed.kernels is None else formed.kernels.by_symbol


def _called(kernels: Sequence[library.Kernel], written: Mapping[str, Kernel]) -> dict[str, Kernel]:
    return {kernel.symbol: written[kernel.symbol] for kernel in kernels}


def _own_library(
    kernels: Sequence[library.Kernel],
    items: Sequence[Item],
    written: Mapping[str, Kernel],
    target: Mapping[str, str],
    alone: bool,
) -> list[host.Library]:
    """A library of all kernels, persistent ones too, by LLVM itself; none if it cannot make one.

    Raises:
      NotDirectError: it cannot, and is `alone`: there is no other way.
    """
    try:
        found = _called(kernels, written)
        code, machine = known.obtained(found, target), _machine(target)
        rows = {symbol: (code[symbol], len(k.inputs) + len(k.outputs)) for symbol, k in found.items()}
        exported, others = [*kernels], {}
        for kernel in kernels_of(items):
            others[persistent.SYMBOL] = known.persistent(target)
            rows[kernel.symbol] = persistent.code(kernel, machine), len(kernel.slots) + 1
            exported.append(library.Kernel(kernel.symbol, (kernel.workgroups, 1, 1)))
            log.event("compile", "persistent kernel", workgroups=kernel.workgroups, waits=kernel.waits)
        return [host.Library(linker.library(rows, machine, others), machine.format, exported)]
    except NotDirectError as error:
        if alone:
            raise
        log.event("compile", "machine code by the compiler", reason=str(error))
        return []


def _library(
    formed: Ready,
    described: Program,
    kernels: Sequence[library.Kernel],
    target: Mapping[str, str],
    flags: tuple[str, ...],
) -> host.Library:
    """A shared library of kernels by the compiler, whose code generation is LLVM's, too."""
    with scratch.folder() as folder, invocation(*flags, *library.FLAGS) as run:
        path = os.path.join(folder, "kernels.o")
        run.verify_between_passes(False)
        module = ir().Module.parse(formed.source, run.context)
        taken = run.take(library.assembled(module, described, kernels, target, path).operation)
        _check(taken and run.execute(1), run.found)
        with open(path, "rb") as file:
            query = f"{library.EXECUTABLE}_library_query"
            machine = _machine(target)
            return host.Library(linker.linked(function(file.read(), query), machine), machine.format, kernels)


def _machine(target: Mapping[str, str]) -> machines.Machine:
    return machines.of(machine_code.described(target)[0])


def _check(ok: bool, found: list[Diagnostic]) -> None:
    if not ok:
        errors = [d.headline for d in found if d.severity == "error"]
        raise NotDirectError(errors[0] if errors else "the compiler gave no reason")
