"""Hints of `passes`: of patterns, pipelines, the command, and the NumPy oracle."""

import contextlib
import io
import pathlib

import numpy as np

import passes
import passes.__main__
from passes import bindings, build
from passes.numeric.interpreter import interpret

HAVE_LINES = False

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.log %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
BROKEN = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %0 = stablehlo.nothing %x }"
CHLO = TEXT.replace("stablehlo.log %x : tensor<4xf32>", "chlo.bessel_i1e %x : tensor<4xf32> -> tensor<4xf32>")
UNKNOWN = TEXT.replace("stablehlo.log %x : tensor<4xf32>", "stablehlo.all_to_all")


def parsed(text=TEXT):
    return bindings.ir.Module.parse(text, bindings.new_context())


def applied(function, op="stablehlo.log"):
    return passes.apply(parsed(), [passes.pattern(op)(function)])


def log_of_integers(op):
    return build.convert(op.operand, np.int32)


def rewritten(op):
    return build.op("stablehlo.log", [op.operand], op.result.type)


def once(op):
    if "done" in op.operation.attributes:
        return None
    return build.op("stablehlo.log", [op.operand], op.result.type, attributes={"done": "unit"})


def leave(module, options):
    """A pass that does nothing."""


def fail(module, options):
    raise KeyError("on purpose")


def spoil(module, options):
    with module.context:
        for function in module.body.operations:
            function.attributes["function_type"] = bindings.ir.Attribute.parse("(tensor<4xi32>) -> tensor<4xf32>")


def spoilt():
    module = parsed()
    spoil(module, None)
    return module


class Failed(Exception):
    pass


def command(*arguments):
    told = io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
        code = passes.__main__.main([*arguments])
    if code:
        raise Failed(told.getvalue())


def named(text, name="m.mlir"):
    pathlib.Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


PASSES = ", ".join(passes.pass_names())

CASES = [
    (
        "choose from nnan, ninf, nsz, arcp, contract, afn, reassoc, or True for all",
        lambda: passes.PassOptions(fast_math="nnan,nz"),
        lambda: passes.PassOptions(fast_math="nnan,nsz"),
    ),
    (
        "give True, False, or names of nnan, ninf, nsz, arcp, contract, afn, reassoc",
        lambda: passes.PassOptions(fast_math=3),
        lambda: passes.PassOptions(fast_math=["nnan"]),
    ),
    # Patterns.
    (
        "did you mean 'stablehlo.cosine' or 'stablehlo.sine' or 'stablehlo.sign'?",
        lambda: passes.pattern("stablehlo.cosin"),
        lambda: [passes.pattern(f"stablehlo.{n}") for n in ("cosine", "sine", "sign")],
    ),
    (
        "passes.operations.TABLE lists them",
        lambda: passes.pattern("stablehlo.zzzzzzzz"),
        lambda: passes.pattern(*passes.operations.names("stablehlo")),
    ),
    ('write @pattern("stablehlo.add")', lambda: passes.pattern()(abs), lambda: passes.pattern("stablehlo.add")(leave)),
    (
        "correct the function fail; the traceback above shows where it failed",
        lambda: (applied(lambda op: None) and None) or applied(fails),
        lambda: applied(once),
    ),
    (
        "return None for an op that already has the wanted form, such as one that the pattern itself built",
        lambda: applied(rewritten),
        lambda: applied(once),
    ),
    (
        "return None where the law does not apply",
        lambda: applied(lambda op: op.result),
        lambda: applied(lambda op: None),
    ),
    (
        "convert, reshape or broadcast the replacement to the type of the op it replaces",
        lambda: applied(log_of_integers),
        lambda: applied(lambda op: build.convert(log_of_integers(op), np.float32)),
    ),
    # Pipelines.
    (
        "correct the pass spoil",
        lambda: passes.run(parsed(), "none", extra=[spoil]),
        lambda: passes.run(parsed(), "none", extra=[leave]),
    ),
    (
        "correct the pass fail; the traceback above shows where it failed",
        lambda: passes.run(parsed(), "none", extra=[fail]),
        lambda: passes.run(parsed(), "none", extra=[leave]),
    ),
    (
        "correct the module that was passed",
        lambda: passes.run(spoilt(), "simplify"),
        lambda: passes.run(parsed(), "simplify"),
    ),
    (
        "give a Pass, a Pattern, a list of patterns, or a function of a module",
        lambda: passes.run(parsed(), extra=[3]),
        lambda: passes.run(
            parsed(),
            extra=[
                passes.Pass("leave", leave),
                passes.pattern("stablehlo.log")(once),
                [passes.pattern("stablehlo.log")(once)],
                lambda module: None,
            ],
        ),
    ),
    ("did you mean 'simplify'?", lambda: passes.run(parsed(), "simplfy"), lambda: passes.run(parsed(), "simplify")),
    (
        "choose from " + PASSES,
        lambda: passes.run(parsed(), "zzz"),
        lambda: [passes.run(parsed(), name) for name in passes.pass_names()],
    ),
    (
        "choose from cpu, spirv, gpu",
        lambda: passes.PassOptions(laws="zzz"),
        lambda: [passes.PassOptions(laws=name) for name in ("cpu", "spirv", "gpu")],
    ),
    # The oracle.
    (
        "rewrite it into operations that the interpreter implements",
        lambda: interpret(parsed(CUSTOM_CALL), np.ones(4, np.float32)),
        lambda: interpret(parsed(), np.ones(4, np.float32)),
    ),
    (
        "name one of them",
        lambda: interpret(parsed(), np.ones(4, np.float32), function="other"),
        lambda: interpret(parsed(), np.ones(4, np.float32), function="main"),
    ),
    (
        "pass an array of that shape and dtype",
        lambda: interpret(parsed(), np.ones(3, np.float32)),
        lambda: interpret(parsed(), np.ones(4, np.float32)),
    ),
    # The command.
    ("name a file, or - for standard input", command, lambda: command(named(TEXT))),
    ("check the path", lambda: command("missing.mlir"), lambda: command(named(TEXT))),
    ("give a StableHLO module, as text or bytecode", lambda: command(named(BROKEN)), lambda: command(named(TEXT))),
    (
        "give a StableHLO module, as text or bytecode",
        lambda: command(named(b"\xff\xfe\x00")),
        lambda: command(named(TEXT)),
    ),
]

CUSTOM_CALL = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @thing(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def fails(op):
    raise KeyError("on purpose")


fails.__name__ = "fail"
