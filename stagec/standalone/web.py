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
from stagec.core.dims_values import symbols
from stagec.core.webpage import WEBASSEMBLY, filled
from stagec.standalone import llvm_text
from stagec.standalone.forming import refused
from stagec.standalone.function import Function, Parameter
from stagec.standalone.names import constant
from stagec.standalone.sizes import be, spelled

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
    if function.sizes:
        named = " and ".join([size.name for size in function.sizes])
        what = f"{named} {be(function.sizes)} known only when it is called, and the form needs all sizes"
        raise refused(function.label, what, "export it for sizes that are numbers, once for each that you need")
    template = importlib.resources.files("stagec.standalone").joinpath("function.html").read_text("utf-8")
    parts = {
        "title": html.escape(function.label),
        "loader": _loader(function),
        "by": _made_by(),
        "module": base64.b64encode(module(function)).decode(),
    }
    return filled(template, parts, WEBASSEMBLY)


def _made_by() -> str:
    return f"stagec {key.installed_versions()['stagec']}"


def _row(function: Function, parameter: Parameter) -> str:
    shape = [str(size) if is_open(size) else int(size) for size in parameter.aval.shape]
    fields = {"name": parameter.name, "shape": shape, "dtype": str(parameter.aval.dtype)}
    has_rows = function.has_rows(parameter)
    sizes = [f"length: {_length(function, parameter)}", *(["hasRows: true"] if has_rows else [])]
    if function.is_counted and has_rows:
        sizes.append(f"row: {function.row(parameter)}")
    if function.sizes:
        most = max([function.row(parameter, r.values) * (r.rows if has_rows else 1) for r in function.routines[TARGET]])
        sizes.append(f"most: {most}")
    return f"  {{ ...{json.dumps(fields)}, array: {parameter.scalar.array}, {', '.join(sizes)} }},\n"


def _length(function: Function, parameter: Parameter) -> str:
    """The numbers of an array: a literal, or a function of the open sizes."""
    names = {size.symbol: size.name for size in function.sizes}
    if not parameter.aval.is_open:
        return str(function.row(parameter))
    factors = [spelled(n, names, "Math.floor({} / {})") for n in (*parameter.aval.shape, parameter.scalar.parts)]
    used = ", ".join([names[symbol] for symbol in symbols(parameter.aval.shape)])
    return f"({{ {used} }}) => {' * '.join([f'({text})' for text in factors if text != '1'])}"


def _weights_name(function: Function) -> str:
    return f"{function.name}.weights"


def _loader(function: Function) -> str:
    text = importlib.resources.files("stagec.standalone").joinpath("loader.js").read_text("utf-8")
    fields = {
        "label": json.dumps(function.label)[1:-1].replace("<", "\\u003c"),
        "by": _made_by(),
        "name": function.name,
        "arguments": "".join([_row(function, p) for p in function.arguments]),
        "results": "".join([_row(function, p) for p in function.results]),
        "workspace": str(function.workspace),
        "weights": _weights(function),
        "sizes": _sizes(function),
        "counted": json.dumps(function.is_counted),
        "blocks": json.dumps(sorted({max(1, r.rows) for r in function.routines[TARGET]}, reverse=True)),
    }
    for field, value in fields.items():
        text = text.replace(f"@{field}@", value)
    return text


def _sizes(function: Function) -> str:
    """What the loader knows of open sizes."""
    return json.dumps(
        [
            {"name": name, "least": least, "most": None if math.isinf(most) else most, "countsRows": counts_rows}
            for (name, symbol, counts_rows) in function.sizes
            for least, most in [(symbol.lower, symbol.upper)]
        ]
    )


def _weights(function: Function) -> str:
    """What the loader knows of the file of constants."""
    if not function.in_file:
        return "null"
    known = {"file": _weights_name(function), "bytes": function.constants.offsets[-1]}
    return json.dumps({**known, "mark": function.constants.mark.hex()})


def _types(function: Function) -> str:
    named = "; ".join([f"{size.name}: number" for size in function.sizes])
    sizes = [f"sizes: {{ {named} }}"] if named and not function.is_counted else []
    given = ", ".join([*sizes, *[f"{p.name}: {p.scalar.array}" for p in function.arguments]])
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
