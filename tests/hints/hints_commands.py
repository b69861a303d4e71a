"""Hints of the commands, of files of compiled functions, and of targets."""

import collections
import os
import pathlib
import re
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest
from click.testing import CliRunner

import passes.__main__
import stagec
import stagec.numpy as snp
from stagec.artifact import container
from stagec.backends import Target
from stagec.cli import cli

# Messages of commands are about what was typed, not about a line.
HAVE_LINES = False
ROOT = pathlib.Path(stagec.__file__).parent.parent

V = snp.array([3.0, 1.0, 2.0])
MODEL = """\
import stagec
import stagec.numpy as snp

def double(x):
    return x * 2

def same(x):
    return x

def broken(x):
    raise KeyError("on purpose")

def power(x, mode):
    return x if mode == "up" else -x

jitted_power = stagec.jit(power, static_argnames="mode")
"""
STABLEHLO = "func.func @main(%0: tensor<2xf32>) -> tensor<2xf32> { return %0 : tensor<2xf32> }"


class Failed(Exception):
    pass


def command(*arguments):
    pathlib.Path("model.py").write_text(MODEL)
    np.save("x.npy", np.ones(3, np.float32))
    np.save("short.npy", np.ones(2, np.float32))
    environment = {"STAGEC_CACHE_DIR": os.path.abspath("cache")}
    done = CliRunner().invoke(cli, [*arguments], prog_name="stagec", env=environment)
    if done.exit_code:
        raise Failed(done.output)
    return done.output


def cache_info(**environment):
    """The command in a process of its own: it reads the environment when it starts."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("STAGEC_")}
    environment = {**kept, "STAGEC_CACHE_DIR": os.path.abspath("cache"), "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(
        [sys.executable, "-m", "stagec", "cache", "info"], capture_output=True, text=True, env=environment
    )
    if done.returncode:
        raise Failed(done.stderr)


def whole_traceback():
    with pytest.raises(KeyError):
        CliRunner().invoke(cli, ["--traceback", "dump", "model.py:broken", "f32[3]"], catch_exceptions=False)


def target():
    """What `model.stagec` was compiled for."""
    return re.search(r"cpu:[\w-]+", command("inspect", "model.stagec"))[0]


def passes_command(*arguments):
    code = passes.__main__.main([*arguments])
    if code:
        raise Failed("see standard error")


def model(*signatures, name="double"):
    """Compile the model for these signatures into `model.stagec`."""
    exported = stagec.export(lambda x: x * 2)
    rows = [exported(stagec.ShapeDtypeStruct((n,), "float32")) for n in signatures or (3,)]
    stagec.save("model.stagec", {name: rows})


def two_functions():
    exported = stagec.export(lambda x: x * 2)(V)
    stagec.save("model.stagec", {"double": exported, "other": exported})


def after(prepare, *arguments):
    prepare()
    command(*[a() if callable(a) else a for a in arguments])


def written(data, name="file.stagec"):
    pathlib.Path(name).write_bytes(data)
    return name


def other_version():
    data = bytearray(stagec.export(lambda x: x)(V).serialize())
    data[8] ^= 0x40
    return stagec.load(written(bytes(data)))


def with_weights(inline=True):
    weights = snp.ones(2000)
    data = stagec.export(lambda x: x + weights, weights=inline)(1.0).serialize()
    return data, weights


def log_file():
    return stagec.load(stagec.export(snp.log)(np.float32(1)).serialize())


def checked(function, x):
    with stagec.debug_nans():
        return function(np.float32(x))


def refused(function, x):
    with pytest.raises(stagec.errors.NonFiniteError, match="log made NaN"):
        checked(function, x)


def too_large():
    with mock.patch.object(container, "HEADER_LIMIT", 100):
        model()


def fifo():
    os.mkfifo("pipe")
    return "pipe"


def nested(depth):
    found = 1.0
    for _ in range(depth):
        found = [found]
    return found


class Static:
    def __init__(self, x, data):
        self.x, self.data = x, data


stagec.tree_util.register_pytree_node(
    Static, lambda s: ((s.x,), s.data), lambda data, children: Static(children[0], data)
)


def sum_of(tree):
    return sum(stagec.tree.leaves(tree))


def export_tree(tree):
    return stagec.export(sum_of)(tree).serialize()


def shown(name):
    return "'" + name + "'"


CASES = [
    (
        "give x once",
        lambda: command("dump", "model.py:double", "x=f32[2]", "x=f32[3]"),
        lambda: command("dump", "model.py:double", "x=f32[2]"),
    ),
    # Targets.
    (
        "did you mean 'cpu'? Otherwise use 'cpu', 'vulkan[:profile]', 'rocm[:gfxNNN]' or 'cuda[:sm_NN]'",
        lambda: Target.parse("cpuu"),
        lambda: [Target.parse(t) for t in ("cpu", "vulkan", "cuda", "cuda:sm_90")],
    ),
    (
        "use 'cpu', 'vulkan[:profile]', 'rocm[:gfxNNN]' or 'cuda[:sm_NN]'",
        lambda: Target.parse("abacus"),
        lambda: Target.parse("cpu"),
    ),
    (
        "use 'rocm:gfxNNN' with the device's architecture; 'rocm' means gfx942",
        lambda: Target.parse("rocm:zzz"),
        lambda: [Target.parse(t) for t in ("rocm", "rocm:gfx1100")],
    ),
    ("use 'cpu' for this machine's own CPU", lambda: Target.parse("cpu:zzz"), lambda: Target.parse("cpu")),
    (
        "use 'cuda:sm_NN' with the device's compute capability; 'cuda' means sm_80",
        lambda: Target.parse("cuda:zzz"),
        lambda: (Target.parse("cuda:sm_90"), Target.parse("cuda")),
    ),
    (
        "leave it out, or use 'vulkan:portable+fp64', which adds float64; other profiles take no features",
        lambda: Target.parse("vulkan:ampere+zzz"),
        lambda: (Target.parse("vulkan:ampere"), Target.parse("vulkan:portable+fp64")),
    ),
    ("use 'vulkan' for portable", lambda: Target.parse("vulkan:zzz"), lambda: Target.parse("vulkan")),
    (
        "leave it out; features can be added to x86-64 or aarch64 architectures only",
        lambda: Target.parse("cpu:generic+zzz"),
        lambda: Target.parse("cpu:generic"),
    ),
    (
        "use one of bf16, dotprod, fp16fml, fullfp16, i8mm, lse",
        lambda: Target.parse("cpu:aarch64+zzz"),
        lambda: [Target.parse(f"cpu:aarch64+{f}") for f in "bf16 dotprod fp16fml fullfp16 i8mm lse".split()],
    ),
    ("pass a string such as 'cpu'", lambda: Target.parse(3), lambda: Target.parse("cpu")),
    # The command line of stagec.
    (
        "mkdir -p new",
        lambda: command("compile", "model.py:double", "f32[3]", "-o", "new/double.stagec"),
        lambda: (os.makedirs("new"), command("compile", "model.py:double", "f32[3]", "-o", "new/double.stagec")),
    ),
    (
        "write to another directory",
        lambda: command("dump", "model.py:double", "f32[3]", "-o", "model.py/double.txt"),
        lambda: command("dump", "model.py:double", "f32[3]", "-o", "double.txt"),
    ),
    (
        "choose a function that has operations on its arguments",
        lambda: command("view", "model.py:same", "f32[3]", "-o", "same.html"),
        lambda: command("view", "model.py:double", "f32[3]", "-o", "double.html"),
    ),
    (
        "name a module (train:loss) or a file (src/train.py:loss)",
        lambda: command("dump", "double", "f32[3]"),
        lambda: (command("dump", "model:double", "f32[3]"), command("dump", "model.py:double", "f32[3]")),
    ),
    (
        "use one of broken, double, jitted_power, power, same",
        lambda: command("dump", "model:half", "f32[3]"),
        lambda: command("dump", "model:double", "f32[3]"),
    ),
    (
        "run from its directory, or name its file",
        lambda: command("dump", "models:double", "f32[3]"),
        lambda: command("dump", "./model.py:double", "f32[3]"),
    ),
    (
        "name a file that ends in .py",
        lambda: (command("dump", "model:double", "f32[3]"), command("dump", "./x.npy:double", "f32[3]")),
        lambda: command("dump", "./model.py:double", "f32[3]"),
    ),
    (
        'describe each argument, such as "f32[2,3]"',
        lambda: command("dump", "model:double"),
        lambda: command("dump", "model:double", "f32[2,3]"),
    ),
    (
        "write an array as f32[2,3] or i32[], a number as 2.0, a container as {'w': f32[3], 'b': f32[]}",
        lambda: command("dump", "model:double", "f32[2,"),
        lambda: [command("dump", "model:same", a) for a in ("f32[2,3]", "i32[]", "2.0", "{'w': f32[3], 'b': f32[]}")],
    ),
    (
        "give sizes as integers from 0 on",
        lambda: command("dump", "model:double", "f32[-2]"),
        lambda: command("dump", "model:double", "f32[0]"),
    ),
    (
        "add --x64, or set STAGEC_ENABLE_X64=1",
        lambda: command("dump", "model:double", "f64[2]"),
        lambda: command("dump", "--x64", "model:double", "f64[2]"),
    ),
    (
        "write a string as --static \"mode='up'\"",
        lambda: command("dump", "model:power", "f32[2]", "--static", "mode=up"),
        lambda: command("dump", "model:power", "f32[2]", "--static", "mode='up'"),
    ),
    (
        "leave it out, or use --stage stablehlo or --stage optimized or --stage portable",
        lambda: command("dump", "model:double", "f32[3]", "--locations", "--stage", "graph"),
        lambda: (
            command("dump", "model:double", "f32[3]", "--stage", "graph"),
            command("dump", "model:double", "f32[3]", "--locations", "--stage", "optimized"),
        ),
    ),
    (
        "leave it out, or use --stage portable",
        lambda: command("dump", "model:double", "f32[3]", "--stablehlo-version", "1.0.0"),
        lambda: command(
            "dump", "model:double", "f32[3]", "--stablehlo-version", "1.0.0", "--stage", "portable", "-o", "x.mlirbc"
        ),
    ),
    (
        "name a file with -o",
        lambda: command("dump", "model:double", "f32[3]", "--stage", "portable"),
        lambda: command("dump", "model:double", "f32[3]", "--stage", "portable", "-o", "x.mlirbc"),
    ),
    (
        "use another --stage; a function that computes nothing has no kernels, and Vulkan's no LLVM IR",
        lambda: command("dump", "model:same", "f32[3]", "--stage", "asm"),
        lambda: command("dump", "model:same", "f32[3]", "--stage", "stablehlo"),
    ),
    (
        "name a function with its arguments, or a list with --from",
        lambda: command("warm"),
        lambda: (
            command("warm", "model:double", "f32[3]"),
            pathlib.Path("list").write_text("model:double f32[3]\n"),
            command("warm", "--from", "list"),
        ),
    ),
    (
        "write --static into the lines of the list",
        lambda: command("warm", "--static", "mode='up'"),
        lambda: (
            pathlib.Path("list").write_text("model:power f32[3] --static \"mode='up'\"\n"),
            command("warm", "--from", "list"),
        ),
    ),
    (
        "write what could follow `stagec warm`; quote arguments that hold quotes or spaces",
        lambda: (pathlib.Path("list").write_text("model:double 'f32[3]\n"), command("warm", "--from", "list")),
        lambda: (pathlib.Path("list").write_text("model:double 'f32[3]'\n"), command("warm", "--from", "list")),
    ),
    (
        "name another directory with --cache-dir",
        lambda: (
            pathlib.Path("taken").write_text(""),
            command("warm", "model:double", "f32[3]", "--cache-dir", "taken/below"),
        ),
        lambda: command("warm", "model:double", "f32[3]", "--cache-dir", "free"),
    ),
    (
        "use one of double",
        lambda: after(model, "inspect", "model.stagec", "--function", "half"),
        lambda: after(model, "inspect", "model.stagec", "--function", "double"),
    ),
    (
        "add -o module.vmfb",
        lambda: after(model, "inspect", "model.stagec", "--extract", "cpu"),
        lambda: after(model, "inspect", "model.stagec", "--extract", target, "-o", "module.vmfb"),
    ),
    (
        "choose one with --function",
        lambda: after(two_functions, "inspect", "model.stagec", "--extract", target, "-o", "m.vmfb"),
        lambda: after(
            two_functions, "inspect", "model.stagec", "--extract", target, "--function", "other", "-o", "m.vmfb"
        ),
    ),
    (
        "export them to separate files",
        lambda: after(lambda: model(2, 3), "inspect", "model.stagec", "--extract", target, "-o", "m.vmfb"),
        lambda: after(lambda: model(2), "inspect", "model.stagec", "--extract", target, "-o", "m.vmfb"),
    ),
    (
        "use one of double, other",
        lambda: after(two_functions, "run", "model.stagec", "x.npy", "--function", "half"),
        lambda: after(two_functions, "run", "model.stagec", "x.npy", "--function", "double"),
    ),
    (
        "add --function double or --function other",
        lambda: after(two_functions, "run", "model.stagec", "x.npy"),
        lambda: after(two_functions, "run", "model.stagec", "x.npy", "--function", "double"),
    ),
    (
        "write one to .npy, or any number to .npz",
        lambda: after(model, "run", "model.stagec", "x.npy", "-o", "y.txt"),
        lambda: [after(model, "run", "model.stagec", "x.npy", "-o", name) for name in ("y.npy", "y.npz")],
    ),
    (
        "write name=x.npy, x.npz, or a number such as 2.0",
        lambda: after(model, "run", "model.stagec", "x.txt"),
        lambda: after(model, "run", "model.stagec", "x=x.npy"),
    ),
    (
        "give one .npy file or number for each array",
        lambda: (pathlib.Path("program.mlir").write_text(STABLEHLO), command("run", "program.mlir")),
        lambda: (pathlib.Path("program.mlir").write_text(STABLEHLO), command("run", "program.mlir", "short.npy")),
    ),
    (
        "write --static axis=1, or --static name='text' for a string",
        lambda: command("dump", "model:power", "f32[3]", "--static", "mode"),
        lambda: command("dump", "model:power", "f32[3]", "--static", "mode='up'"),
    ),
    (
        "see the whole traceback with `stagec --traceback ...`",
        lambda: command("dump", "model:broken", "f32[3]"),
        lambda: whole_traceback(),
    ),
    (
        "unset STAGEC_CACHE, and set STAGEC_CACHE_MAX_BYTES to a positive number",
        lambda: cache_info(STAGEC_CACHE="0"),
        lambda: cache_info(STAGEC_CACHE_MAX_BYTES="1000000"),
    ),
    (
        "correct or unset STAGEC_CACHE_MAX_BYTES",
        lambda: cache_info(STAGEC_CACHE_MAX_BYTES="many"),
        lambda: (cache_info(STAGEC_CACHE_MAX_BYTES="1000"), cache_info()),
    ),
    # Files.
    (
        "name a file that `stagec compile` or `.save` made",
        lambda: stagec.load(written(b"no artifact" * 99)),
        lambda: (model(), stagec.load("model.stagec")(V)),
    ),
    (
        "load it with the version of stagec that made it, or export the function again",
        other_version,
        lambda: stagec.load(stagec.export(lambda x: x)(V).serialize()),
    ),
    (
        "copy its content to a file",
        lambda: container.open_path(fifo()),
        lambda: stagec.load(written(stagec.export(lambda x: x)(V).serialize())),
    ),
    ("flatten the arguments", lambda: export_tree(nested(200)), lambda: export_tree(stagec.tree.leaves(nested(200)))),
    (
        "static data can be None, bool, int, float, complex, str, bytes, a dtype, and tuples of these",
        lambda: export_tree(Static(1.0, object)),
        lambda: export_tree(Static(1.0, (None, True, 1, 2.0, 3j, "a", b"b", np.dtype("int8")))),
    ),
    (
        "use one of int, float, complex, bool, str, bytes, list, dict, set, tuple, None as the default factory",
        lambda: export_tree(collections.defaultdict(object, a=1.0)),
        lambda: [
            export_tree(collections.defaultdict(f, a=1.0))
            for f in (int, float, complex, bool, str, bytes, list, dict, set, tuple, None)
        ],
    ),
    ("save the functions to several files", too_large, lambda: model()),
    (
        "stagec.load(path, weights=[...]): f32[2000]",
        lambda: stagec.load(with_weights(False)[0]),
        lambda: stagec.load(with_weights(False)[0], weights=[snp.ones(2000)])(1.0),
    ),
    (
        "pass the arrays that the functions close over, in the order that `python -m stagec inspect` shows",
        lambda: stagec.load(with_weights(False)[0], weights=[V]),
        lambda: stagec.load(with_weights(False)[0], weights=[snp.ones(2000)])(1.0),
    ),
    (
        "trace the original function to see which operation made it; debug_nans=False turns this check off",
        lambda: checked(log_file(), -1.0),
        lambda: refused(stagec.jit(snp.log), -1.0),
    ),
    (
        "get the file from where it was made",
        lambda: stagec.load(stagec.export(lambda x: x)(V).serialize(), digest="0" * 64),
        lambda: model(),
    ),
    (
        "call one of them: loaded['double'](...)",
        lambda: (two_functions(), stagec.load("model.stagec")(V)),
        lambda: (two_functions(), stagec.load("model.stagec")["double"](V)),
    ),
    (
        "call it outside of jit, or trace the original function instead",
        lambda: (model(), stagec.jit(stagec.load("model.stagec"))(V)),
        lambda: (model(), stagec.load("model.stagec")(V), stagec.jit(lambda x: x * 2)(V)),
    ),
]
