"""WebAssembly: a module without imports but for memory that threads share, and a loader in JavaScript with types, or a
page that runs it."""

from __future__ import annotations

import base64
import html
import importlib.resources
import json
import math
import os
import subprocess
from collections.abc import Sequence

from stagec.backends import Target
from stagec.compiler import key, scratch
from stagec.compiler.diagnostics import linker_path
from stagec.compiler.direct import machine_code
from stagec.compiler.direct.program import NotDirectError
from stagec.core.dims import is_open
from stagec.core.dims_terms import Size
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
# Memory for a stack besides the arrays that kernels keep there. More would trap: nothing lies below the first one.
_STACK = 1 << 20
# How memory that the module imports begins in its list of imports; its pages follow.
_MEMORY = b"\x03env\x06memory\x02\x03"


def write(folder: str, function: Function, threads: bool = False) -> list[str]:
    """Write a WebAssembly module and its loader into a folder, which is made if need be.

    Args:
      threads: whether workers share the work.

    Returns:
      Their paths.

    Raises:
      UnsupportedError: the function needs another library.
      OSError: the folder cannot be written to.
    """
    name, code = function.name, module(function, threads)
    pages = _leb128(code.partition(_MEMORY)[2]) if threads else 0
    files = {
        f"{name}.wasm": code,
        f"{name}.js": _loader(function, pages).encode(),
        f"{name}.d.ts": _types(function, threads).encode(),
    }
    if function.in_file:
        files[_weights_name(function)] = function.constants.in_file()
    os.makedirs(folder, exist_ok=True)
    for file, content in files.items():
        with open(os.path.join(folder, file), "wb") as out:
            out.write(content)
    return [os.path.join(folder, file) for file in files]


def module(function: Function, threads: bool) -> bytes:
    """The WebAssembly module: the function, its kernels and constants.

    Args:
      threads: whether threads share its memory, and the work.

    Raises:
      UnsupportedError: a kernel has no form, or needs another library.
    """
    routines = function.routines[TARGET]
    data = () if function.in_file else function.constants.data
    constants = [_constant(constant(function.name, i), content) for i, content in enumerate(data)]
    named = {r.kernel(function.name, name): kernel for r in routines for name, kernel in r.kernels.items()}
    try:
        shared = [_resource("pool.ll")] if threads else []
        text = "".join([*constants, *shared, *[llvm_text.printed(function, routine, threads) for routine in routines]])
        described = {**_DESCRIBED, "reproducible": "true"} if function.reproducible else _DESCRIBED
        if threads:
            described = {**described, "cpu_features": f"{described['cpu_features']},+atomics"}
        return _linked(function, machine_code.linkable(named, described, text), threads)
    except machine_code.NoLlvmError as error:
        raise refused(function.label, str(error), "install the release of llvmlite that stagec asks for") from None
    except NotDirectError as error:
        raise refused(function.label, str(error)) from None


def _constant(name: str, data: bytes) -> str:
    text = 'c"' + "".join([_ESCAPED[byte] for byte in data]) + '"' if any(data) else "zeroinitializer"
    return f"@{name} = hidden constant [{len(data)} x i8] {text}, align 64\n"


_ESCAPED = [f"\\{byte:02X}" for byte in range(256)]


def _stack(function: Function) -> int:
    """The bytes of a thread's stack."""
    return -(-(function.stack + _STACK) // 64) * 64


def _leb128(data: bytes) -> int:
    """The number with which bytes begin: seven bits in each, the lowest first, until the highest bit is 0."""
    return data[0] & 127 | (_leb128(data[1:6]) << 7 if data[0] & 128 else 0)


def _linked(function: Function, data: bytes, threads: bool) -> bytes:
    linker = linker_path()
    if not linker:
        raise refused(function.label, "iree-lld is not in iree-base-compiler", "install iree-base-compiler again")
    with scratch.folder("link") as folder:
        given, made = os.path.join(folder, "given.o"), os.path.join(folder, "made.wasm")
        with open(given, "wb") as file:
            file.write(data)
        exported = [routine.named(function.name) for routine in function.routines[TARGET]]
        exported += ["__heap_base", *(["__stack_pointer", "pool.serve"] if threads else [])]
        flags = [*(f"--export={name}" for name in exported), "--strip-all", "--stack-first"]
        if threads:  # of at most 4 GiB, which the loader divides
            flags += ["--shared-memory", "--import-memory", "--export-memory", f"--max-memory={1 << 32}"]
        stack = f"stack-size={_stack(function)}"
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
    parts = {
        "title": html.escape(function.label),
        "loader": _loader(function, 0),
        "by": _made_by(),
        "module": base64.b64encode(module(function, False)).decode(),
    }
    return filled(_resource("function.html"), parts, WEBASSEMBLY)


def _resource(name: str) -> str:
    """The text of a file beside this one."""
    return importlib.resources.files("stagec.standalone").joinpath(name).read_text("utf-8")


def _made_by() -> str:
    return f"stagec {key.installed_versions()['stagec']}"


def _row(function: Function, parameter: Parameter) -> str:
    shape = [str(size) if is_open(size) else int(size) for size in parameter.aval.shape]
    fields = {"name": parameter.name, "shape": shape, "dtype": str(parameter.aval.dtype)}
    has_rows = function.has_rows(parameter)
    sizes = [f"length: {_length(function, parameter)}", *(["hasRows: true"] if has_rows else [])]
    if function.is_counted and has_rows:
        sizes.append(f"row: {function.row(parameter)}")
    if function.is_padded(parameter):
        shape_ = parameter.aval.shape[len(function.rows) if has_rows else 0 :]
        sizes.append(f"dims: {_of_sizes(function, [*shape_, parameter.scalar.parts], '[{}]', ', ')}")
    if function.sizes:
        most = max([function.row(parameter, r.values) * (r.rows if has_rows else 1) for r in function.routines[TARGET]])
        sizes.append(f"most: {most}")
    return f"  {{ ...{json.dumps(fields)}, array: {parameter.scalar.array}, {', '.join(sizes)} }},\n"


def _length(function: Function, parameter: Parameter) -> str:
    """The numbers of an array: a literal, or a function of the open sizes."""
    if not parameter.aval.is_open:
        return str(function.row(parameter))
    return _of_sizes(function, [*parameter.aval.shape, parameter.scalar.parts], "({})", ") * (")


def _of_sizes(function: Function, shape: Sequence[Size], whole: str, between: str) -> str:
    """A function of the open sizes, by the sizes of an array."""
    names = {size.symbol: size.name for size in function.sizes}
    used = ", ".join([names[symbol] for symbol in symbols(shape)])
    text = whole.format(between.join([spelled(n, names, "Math.floor({} / {})") for n in shape]))
    return f"({{ {used} }}) => {text}"


def _weights_name(function: Function) -> str:
    return f"{function.name}.weights"


def _loader(function: Function, pages: int) -> str:
    """The ES module.

    Args:
      pages: the memory, in 64 KiB, that the module takes for itself where threads share it; else 0.
    """
    text = _resource("loader.js")
    fields = {
        "load": _resource("threads.js" if pages else "one_thread.js"),
        "pages": str(pages),
        "stack": str(_stack(function)),
        "label": json.dumps(function.label)[1:-1].replace("<", "\\u003c"),
        "by": _made_by(),
        "name": function.name,
        "arguments": "".join([_row(function, p) for p in function.arguments]),
        "results": "".join([_row(function, p) for p in function.results]),
        "workspace": str(function.workspace),
        "weights": _weights(function),
        "sizes": _sizes(function),
        "counted": json.dumps(function.is_counted),
        "paddings": json.dumps(_paddings(function)),
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


def _paddings(function: Function) -> list[dict[str, int]] | None:
    """The sizes that arrays are padded to."""
    if not function.numbers:
        return None
    values = dict.fromkeys([routine.values for routine in function.routines[TARGET]])
    return [{size.name: n for size, n in zip(function.others, part)} for part in values]


def _weights(function: Function) -> str:
    """What the loader knows of the file of constants."""
    if not function.in_file:
        return "null"
    known = {"file": _weights_name(function), "bytes": function.constants.offsets[-1]}
    return json.dumps({**known, "mark": function.constants.mark.hex()})


def _types(function: Function, threads: bool) -> str:
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
    if threads:
        weights = f"{weights or ', weights?: null'}, threads?: number"
    call = " & { terminate(): void }" if threads else ""
    return f"""/** {function.label.replace("*/", "* /")}, compiled by {_made_by()}. Arrays are in row-major order:
{lines}
 */
export type Call = ({given}) => {made};

/** Compiles the module; by default {fetched}. */
export function load(source?: {place} | WebAssembly.Module{weights}): Promise<Call{call}>;
"""
