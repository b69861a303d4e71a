"""WebAssembly: a module without imports, and a loader in JavaScript with types, or a page that runs it."""

from __future__ import annotations

import base64
import html
import importlib.resources
import json
import math
import os
import subprocess

from stagec.backends import Target
from stagec.compiler import key, scratch
from stagec.compiler.diagnostics import linker_path
from stagec.compiler.direct import machine_code
from stagec.compiler.direct.program import NotDirectError
from stagec.core.dims import is_open
from stagec.core.webpage import filled
from stagec.standalone import llvm_text
from stagec.standalone.forming import refused
from stagec.standalone.function import Function, Parameter
from stagec.standalone.names import constant

# Kernels are those for this processor: its vectors have 16 bytes, too, and it has no multiply-adds.
TARGET = Target.parse("cpu:x86-64-v2")
_DESCRIBED = {
    "target_triple": "wasm32-unknown-unknown",
    "cpu": "generic",
    "cpu_features": "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint",
}
# Memory for the stack besides the arrays that kernels keep there. More would trap: nothing lies below it.
_STACK = 1 << 20


def write(folder: str, function: Function) -> list[str]:
    """Write a WebAssembly module and its loader into a folder, which is made if need be.

    Returns:
      Their paths.

    Raises:
      UnsupportedError: the function needs another library.
      OSError: the folder cannot be written to.
    """
    name = function.name
    files = {
        f"{name}.wasm": module(function),
        f"{name}.js": _loader(function).encode(),
        f"{name}.d.ts": _types(function).encode(),
    }
    if function.in_file:
        files[_weights_name(function)] = function.constants.in_file()
    os.makedirs(folder, exist_ok=True)
    for file, content in files.items():
        with open(os.path.join(folder, file), "wb") as out:
            out.write(content)
    return [os.path.join(folder, file) for file in files]


def module(function: Function) -> bytes:
    """The WebAssembly module: the function, its kernels and constants.

    Raises:
      UnsupportedError: a kernel has no form, or needs another library.
    """
    routines = function.routines[TARGET]
    data = () if function.in_file else function.constants.data
    constants = [_constant(constant(function.name, i), content) for i, content in enumerate(data)]
    named = {f"{r.named(function.name)}_{name}": kernel for r in routines for name, kernel in r.kernels.items()}
    try:
        text = "".join([*constants, *[llvm_text.printed(function, routine) for routine in routines]])
        described = {**_DESCRIBED, "reproducible": "true"} if function.reproducible else _DESCRIBED
        return _linked(function, machine_code.linkable(named, described, text))
    except machine_code.NoLlvmError as error:
        raise refused(function.label, str(error), "install the release of llvmlite that stagec asks for") from None
    except NotDirectError as error:
        raise refused(function.label, str(error)) from None


def _constant(name: str, data: bytes) -> str:
    text = 'c"' + "".join([_ESCAPED[byte] for byte in data]) + '"' if any(data) else "zeroinitializer"
    return f"@{name} = hidden constant [{len(data)} x i8] {text}, align 64\n"


_ESCAPED = [f"\\{byte:02X}" for byte in range(256)]


def _linked(function: Function, data: bytes) -> bytes:
    linker = linker_path()
    if not linker:
        raise refused(function.label, "iree-lld is not in iree-base-compiler", "install iree-base-compiler again")
    with scratch.folder("link") as folder:
        given, made = os.path.join(folder, "given.o"), os.path.join(folder, "made.wasm")
        with open(given, "wb") as file:
            file.write(data)
        exported = [routine.named(function.name) for routine in function.routines[TARGET]]
        flags = [*(f"--export={name}" for name in (*exported, "__heap_base")), "--strip-all", "--stack-first"]
        stack = f"stack-size={-(-(function.stack + _STACK) // 64) * 64}"
        command = [linker, "-flavor", "wasm", "--no-entry", *flags, "-z", stack, given, "-o", made]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            missing = {line.partition("undefined symbol: ")[2] for line in done.stderr.splitlines()} - {""}
            what = f"it needs {', '.join(sorted(missing))} of the C library" if missing else done.stderr.strip()
            raise refused(function.label, what)
        with open(made, "rb") as file:
            return file.read()


def page(function: Function) -> str:
    """A page that runs a function: its loader, its module, and a form for its arguments.

    Raises:
      UnsupportedError: the function needs another library.
    """
    if function.rows:
        what = f"{function.rows.name} is known only when it is called, and the form needs all sizes"
        raise refused(function.label, what, "export it for sizes that are numbers, once for each that you need")
    template = importlib.resources.files("stagec.standalone").joinpath("function.html").read_text("utf-8")
    parts = {
        "title": html.escape(function.label),
        "loader": _loader(function),
        "by": _made_by(),
        "module": base64.b64encode(module(function)).decode(),
    }
    return filled(template, parts, " 'wasm-unsafe-eval'")


def _made_by() -> str:
    return f"stagec {key.installed_versions()['stagec']}"


def _row(parameter: Parameter) -> str:
    shape = [str(size) if is_open(size) else int(size) for size in parameter.aval.shape]
    fields = {"name": parameter.name, "shape": shape, "dtype": str(parameter.aval.dtype)}
    sizes = f"row: {parameter.row}" if parameter.row else f"length: {parameter.aval.size * parameter.scalar.parts}"
    return f"  {{ ...{json.dumps(fields)}, array: {parameter.scalar.array}, {sizes} }},\n"


def _weights_name(function: Function) -> str:
    return f"{function.name}.weights"


def _loader(function: Function) -> str:
    text = importlib.resources.files("stagec.standalone").joinpath("loader.js").read_text("utf-8")
    fields = {
        "label": json.dumps(function.label)[1:-1].replace("<", "\\u003c"),
        "by": _made_by(),
        "name": function.name,
        "arguments": "".join(map(_row, function.arguments)),
        "results": "".join(map(_row, function.results)),
        "workspace": str(function.workspace),
        "weights": _weights(function),
        "rows": _rows(function),
    }
    for field, value in fields.items():
        text = text.replace(f"@{field}@", value)
    return text


def _rows(function: Function) -> str:
    """What the loader knows of an open number of rows."""
    if function.rows is None:
        return "null"
    bounds = {"least": function.rows.least, "most": None if math.isinf(function.rows.most) else function.rows.most}
    return json.dumps({**bounds, "blocks": [routine.rows for routine in function.routines[TARGET]]})


def _weights(function: Function) -> str:
    """What the loader knows of the file of constants."""
    if not function.in_file:
        return "null"
    known = {"file": _weights_name(function), "bytes": function.constants.offsets[-1]}
    return json.dumps({**known, "mark": function.constants.mark.hex()})


def _types(function: Function) -> str:
    given = ", ".join([f"{p.name}: {p.scalar.array}" for p in function.arguments])
    if len(function.results) == 1:
        made = function.results[0].scalar.array
    else:
        made = "{ " + "; ".join([f"{p.name}: {p.scalar.array}" for p in function.results]) + " }"
    rows = [
        f" *   {p.name}: {p.aval.dtype}[{', '.join(map(str, p.aval.shape))}]"
        for p in (*function.arguments, *function.results)
    ]
    lines = "\n".join(rows)
    place = "URL | string | Response | BufferSource"
    weights, fetched = f", weights?: {place}" if function.in_file else "", "the file next to this one"
    if function.in_file:
        fetched = "the files next to this one. The bytes of the weights are copied"
    return f"""/** {function.label.replace("*/", "* /")}, compiled by {_made_by()}. Arrays are in row-major order:
{lines}
 */
export type Call = ({given}) => {made};

/** Compiles the module; by default {fetched}. */
export function load(source?: {place} | WebAssembly.Module{weights}): Promise<Call>;
"""
