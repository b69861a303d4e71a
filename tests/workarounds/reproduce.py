"""Compiles and runs the programs of records, with and without their workarounds."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pathlib
import tempfile

import iree.runtime
import numpy as np

from passes import bindings
from passes.numeric.interpreter import interpret
from stagec.backends import Target
from stagec.backends.record import VECTOR_SUMS
from stagec.compiler import build, driver, mlir
from stagec.compiler.flags import CompileOptions, ladder
from stagec.compiler.invocation import invocation
from stagec.compiler.spirv import racing_kernels
from tests.workarounds.records import Script, Symptom

RIGHT = "right"
# What the process of a reproduction gets.
_SECONDS = 100


class Refused(Exception):
    """The compiler or the runtime refused a program."""


def compiled_alone(program):
    """The program as the compiler makes it, without stagec's rewrites and without its changes between phases."""
    target = Target.parse(program.target)
    (flag_set,) = ladder(target, CompileOptions(flag_set="plain"))
    mlir.load()
    # Other releases do not know every flag.
    left_out = (program.flag, VECTOR_SUMS)
    with invocation(*(flag for flag in (*flag_set.flags, *program.flags) if flag not in left_out)) as run:
        if run.parse(_described(program, target)) and run.execute():
            return run.bytecode()
        raise Refused("\n".join(map(str, run.found)))


def _described(program, target):
    description = target.on.description(target)
    attributes = [f"hal.device.targets = [{description}]"] if description else []
    attributes += ["stream.affinity = #hal.device.promise<@__device_0>"] if program.placed else []
    return f"module attributes {{{', '.join(attributes)}}} {{\n{program.text}\n}}".encode()


def compiled_with_workarounds(program):
    """The program as `jit` has it compiled where no kernels of stagec's own take the place of operations."""
    mlir.load()
    options = build.ProgramOptions(Target.parse(program.target), kernels=False)
    module = bindings.ir.Module.parse(program.text, bindings.new_context())
    build.optimize(module, options)
    return driver.compile_module(module, options.target, options=options.of_compiler()).vmfb


@functools.cache
def config(name):
    """The runtime's configuration for a driver, with one device."""
    return iree.runtime.Config(name)


def called(program, vmfb, *inputs):
    """What `main` returns, as arrays of the device."""
    context = iree.runtime.SystemContext(config=config("local-sync"))
    try:
        context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, vmfb))
        (module,) = [context.modules[name] for name in context.modules if name != "hal"]
        for _ in range(program.calls):
            found = module["main"](*(inputs or program.inputs))
    except (ValueError, IndexError) as error:
        raise Refused(str(error)) from None
    return found if isinstance(found, (list, tuple)) else [found]


def results(program, vmfb, *inputs):
    """What `main` returns, as NumPy arrays."""
    return [np.array(one.to_host()) for one in called(program, vmfb, *inputs)]


def outcome(program, compiled):
    """What becomes of a program: right, a wrong result, or the message with which it is refused.

    Code for a GPU is not run: that it was compiled, and has no kernels that race, counts as right.
    """
    try:
        vmfb = compiled(program)
        if program.target != "cpu":
            return Symptom.WRONG.value if racing_kernels(vmfb) else RIGHT
        got = results(program, vmfb)
    except Refused as refused:
        return str(refused)
    wanted = [np.asarray(one) for one in interpret(program.text, *program.inputs)]
    return RIGHT if all(_same(g, w) for g, w in zip(got, wanted, strict=True)) else Symptom.WRONG.value


def _same(got, wanted):
    if wanted.dtype == bool:
        got = got.astype(bool)
    return got.dtype == wanted.dtype and np.allclose(got, wanted, rtol=1e-5, equal_nan=wanted.dtype.kind in "fc")


def run_script(text, guarded):
    """Run a script's text."""
    exec(compile(text, "script", "exec"), {"__name__": "__main__", "GUARDED": guarded})
    return RIGHT


def run_alone(function, *arguments):
    """The exit status of a process that calls a function, what this returned, and what the process printed of errors.

    Where the system can fork, it is forked from one that has imported what all of them need.
    """
    context = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
    if hasattr(os, "fork"):
        context.set_forkserver_preload(["tests.workarounds.ready"])
    with tempfile.TemporaryDirectory(prefix="stagec-reproduction-") as folder:
        process = context.Process(target=_answer, args=(folder, function, *arguments))
        process.start()
        process.join(_SECONDS)
        if process.is_alive():
            process.kill()
            raise TimeoutError(f"no answer in {_SECONDS} seconds")
        answers = [pathlib.Path(folder, name) for name in ("result", "errors")]
        return process.exitcode, *(answer.read_text("utf-8") if answer.exists() else "" for answer in answers)


def _answer(folder, function, *arguments):
    with open(os.path.join(folder, "errors"), "w", encoding="utf-8") as errors:
        os.dup2(errors.fileno(), 2)
    pathlib.Path(folder, "result").write_text(function(*arguments), "utf-8")


def symptom(record, guarded=False):
    """What becomes of a record's reproduction: right, wrong, crash, or the message that it ends with."""
    shown_by = record.shown_by
    if isinstance(shown_by, Script):
        work = run_script, shown_by.text, guarded
    else:
        work = outcome, shown_by, compiled_with_workarounds if guarded else compiled_alone
        if record.symptom not in (Symptom.CRASH, Symptom.HANG):
            return outcome(*work[1:])
    status, result, errors = run_alone(*work)
    if status == 0:
        return result or RIGHT  # a script may end itself
    # Python ends with 1 after an exception; what ends the process itself does not.
    last = errors.strip().splitlines()[-1] if errors.strip() else ""
    is_exception = status == 1 and "Error" in last
    return last if is_exception or "option not found" in last else Symptom.CRASH.value


def shows(record, found):
    """Whether what became of a reproduction is the symptom that its record has."""
    expected = getattr(record.shown_by, "shows", "")
    if record.symptom is Symptom.WRONG and not expected:
        return found == Symptom.WRONG.value
    if record.symptom is Symptom.CRASH:
        return found == Symptom.CRASH.value
    return bool(expected) and expected in found
