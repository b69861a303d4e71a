"""C libraries: headers, the host part in C99, and object files with the kernels and constants."""

from __future__ import annotations

import math
import os

from stagec.backends import Target
from stagec.compiler import key
from stagec.compiler.direct import library, machine_code
from stagec.compiler.direct.program import NotDirectError
from stagec.standalone import c_sizes, c_text, cpp_header
from stagec.standalone.c_text import comment, declared
from stagec.standalone.data_object import object_of
from stagec.standalone.forming import refused
from stagec.standalone.function import ALIGNMENT, Function, Parameter
from stagec.standalone.names import constant
from stagec.standalone.sizes import spelled

# What a compiler says of the processor that it compiles for, and IREE's format of its executables.
_MACHINES = {
    "x86_64": ("defined __x86_64__", "embedded-elf-x86_64"),
    "aarch64": ("defined __aarch64__", "embedded-elf-arm_64"),
    "riscv64": ("defined __riscv_float_abi_double && __riscv_xlen == 64", "embedded-elf-riscv_64"),
    "armv7": ("defined __ARM_PCS_VFP", "embedded-elf-arm_32"),
}
# Where functions of the C library take floats elsewhere than on the bare machine that the compiler describes.
_TRIPLES = {"armv7": "armv7a-unknown-linux-gnueabihf"}
# What is asked of the processor before code for a level runs. The rest of a level comes with it.
_ASKED = {
    "x86-64": (),
    "x86-64-v2": ("sse4.2", "popcnt"),
    "x86-64-v3": ("avx2", "fma", "bmi2"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    **dict.fromkeys(("aarch64", "riscv64", "armv7"), ()),
}
# Further features that compilers know by these names.
_FEATURES = frozenset("avx512bf16 avx512ifma avx512vbmi avx512vbmi2 avx512vnni gfni".split())


def write(folder: str, function: Function) -> list[str]:
    """Write the files of a library into a folder, which is made if need be, in place of those of an earlier one.

    Returns:
      Their paths.

    Raises:
      UnsupportedError: a kernel has no form in a C library.
      OSError: the folder cannot be written to.
    """
    files = {
        f"{function.name}.h": _header(function).encode(),
        f"{function.name}.hpp": cpp_header.printed(function, _made_by()).encode(),
        f"{function.name}.c": _source(function).encode(),
        "CMakeLists.txt": _cmake(function).encode(),
    }
    files |= {_object_name(function, target): _object(function, target) for target in function.routines}
    if function.in_file:
        files[f"{function.name}.weights"] = function.constants.in_file()
    elif function.constants.data:
        constants = {constant(function.name, i): data for i, data in enumerate(function.constants.data)}
        machine = next(iter(function.routines)).machine
        files[_constants_name(function)] = object_of(constants, machine)
    os.makedirs(folder, exist_ok=True)
    # Programs link all objects of the folder, so those that were written for other targets must not stay.
    for name in os.listdir(folder):
        if name.startswith(f"{function.name}-") and name.endswith(".o") and name not in files:
            os.unlink(os.path.join(folder, name))
    paths = [os.path.join(folder, file) for file in files]
    for path, content in zip(paths, files.values()):
        with open(path, "wb") as file:
            file.write(content)
    return paths


def check_targets(name: str, targets: tuple[Target, ...]) -> None:
    """Check that a function can become a library for some targets.

    Args:
      name: the function's.

    Raises:
      UnsupportedError: one of them is no processor of a C library, or they are for several architectures.
    """
    for target in targets:
        asked = _FEATURES if target.machine == "x86_64" else ()
        if target.arch not in _ASKED or not set(target.features) <= set(asked):
            fix = f"use {', '.join(f'cpu:{arch}' for arch in _ASKED)}"
            raise refused(name, f"C libraries are not made for {target}", fix)
    if len(targets) > 1 and any(target.machine != "x86_64" for target in targets):
        shown = ", ".join(map(str, targets))
        raise refused(name, f"only levels of x86-64 go into one library, and not {shown}", "write one for each")


def _object_name(function: Function, target: Target) -> str:
    return f"{function.name}-{'+'.join((target.arch, *target.features))}.o"


def _constants_name(function: Function) -> str:
    return f"{function.name}-constants.o"


def _symbol(function: Function, target: Target) -> str:
    """The name of a function for a processor, with which those of its kernels begin."""
    return "_".join((function.name, target.arch, *target.features)).replace("-", "_")


def _object(function: Function, target: Target) -> bytes:
    """The object file for a processor."""
    kernels = {
        routine.kernel(_symbol(function, target), name): kernel
        for routine in function.routines[target]
        for name, kernel in routine.kernels.items()
    }
    try:
        formats = [elf_format for _, elf_format in _MACHINES.values()]
        described = library.target(target.on.flags(target), function.reproducible, formats)
        triple = _TRIPLES.get(target.machine, described["target_triple"])
        return machine_code.linkable(kernels, {**described, "target_triple": triple})
    except machine_code.NoLlvmError as error:
        raise refused(function.label, str(error), "install the release of llvmlite that stagec asks for") from None
    except NotDirectError as error:
        raise refused(function.label, str(error)) from None


# Texts.


def _described(function: Function, parameter: Parameter) -> str:
    note = f", {parameter.scalar.note}" if parameter.scalar.note else ""
    label = "" if parameter.label == parameter.name else f" ({parameter.label})"
    names = {size.symbol: size.name for size in function.sizes}
    shape = ",".join([spelled(n, names) for n in parameter.aval.shape])
    return comment(f"{parameter.name}: {parameter.aval.dtype}[{shape}]{note}{label}")


def _prototype(function: Function) -> str:
    given = [f"size_t {size.name}" for size in function.sizes]
    given += [*declared(function.arguments, True), *declared(function.results, False)]
    given += ["const void *weights"] if function.in_file else []
    return f"int {function.name}({', '.join([*given, 'void *workspace', 'const stagec_threads *threads'])})"


def _made_by() -> str:
    return f"stagec {key.installed_versions()['stagec']}"


def _header(function: Function) -> str:
    large = function.name.upper()
    rows = [_described(function, p) for p in (*function.arguments, *function.results)]
    sizes, codes = [f"#define {large}_WORKSPACE {function.workspace}"], ""
    if function.sizes:
        what = "the number of rows" if function.is_counted else "a size"
        rows = [*(f"{size.name}: {what}, {size.shown}" for size in function.sizes), *rows]
        name = function.sizes[0].name
        codes += f", or 3 if {name} is not such a number" if len(function.sizes) == 1 else ", or 3 for other sizes"
    if function.numbers:
        sizes.append(c_sizes.workspace(function))
        named = f", or {large}_WORKSPACE_FOR these sizes,"
    else:
        named = ""
    if function.in_file:
        rows += [
            f"weights: the {large}_WEIGHTS bytes of the file {function.name}.weights, at a multiple of {ALIGNMENT}"
        ]
        sizes += [f"#define {large}_WEIGHTS {function.constants.offsets[-1]}"]
        codes = f", or 2 if the weights are not those of the library{codes}"
    rows += [
        f"workspace: {large}_WORKSPACE bytes{named} for the time of the call, at a multiple of 16",
        "threads: how threads share the work, or NULL for the calling thread alone",
    ]
    lines = "\n".join(f"   {row}" for row in rows)
    defined = "\n".join(sizes)
    return f"""/* {comment(function.label)}, compiled by {_made_by()} for {", ".join(map(str, function.routines))}. */
#ifndef {large}_H
#define {large}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

#ifndef STAGEC_THREADS
#define STAGEC_THREADS
/* How the work of a call is shared by threads. `run` calls task(state, i) for each i below count, in any order and on
   any threads, and returns when all of these calls have. */
typedef struct stagec_threads {{
  void (*run)(void *context, uint32_t count, void (*task)(void *state, uint32_t i), void *state);
  void *context;
}} stagec_threads;
#endif

{defined}

/* Arrays are in row-major order, and do not overlap. Nothing is allocated and nothing is kept between calls, which may
   run at the same time with a workspace each.

{lines}

   Returns 0, or 1 if the processor lacks what the code needs{codes}. */
{_prototype(function)};

#ifdef __cplusplus
}}
#endif

#endif
"""


def _source(function: Function) -> str:
    # The most capable processor is asked for first.
    targets = sorted(function.routines, key=lambda t: (list(_ASKED).index(t.arch), len(t.features)), reverse=True)
    condition, _ = _MACHINES[targets[0].machine]
    parts = [c_text.routines(function, function.routines[t], _symbol(function, t)) for t in targets]
    body = "".join([*parts, _entry(function, targets)])
    externs = "".join(
        f"extern const unsigned char {constant(function.name, i)}[{len(data)}];\n"
        for i, data in enumerate(function.constants.data)
        if not function.in_file
    )
    return f"""/* {comment(function.label)}: what {_made_by()} calls in which order. The kernels are in object files. */
#include "{function.name}.h"

#include <string.h>

#if !({condition})
#error "the kernels are for another processor"
#endif

{externs}{c_text.helpers(body)}{body}"""


def _entry(function: Function, targets: list[Target]) -> str:
    given = [p.name for p in (*function.arguments, *function.results)]
    lines = ["", _prototype(function), "{"]
    for name, symbol, _ in function.sizes:
        test = f"{name} < {symbol.lower}" + ("" if symbol.upper == math.inf else f" || {name} > {symbol.upper}")
        lines += [f"  if ({test}) return 3;"]
    given = [*(size.name for size in function.sizes), *given]
    if function.in_file:
        given += ["weights"]
        mark = function.constants.mark
        rows = [", ".join([f"0x{byte:02x}" for byte in mark[i : i + 16]]) for i in range(0, len(mark), 16)]
        between = ",\n    "
        lines += [f"  static const unsigned char mark[] = {{\n    {between.join(rows)}\n  }};"]
        lines += ["  if (memcmp(weights, mark, sizeof mark)) return 2;"]
    for target in targets:
        tests = [f'__builtin_cpu_supports("{name}")' for name in (*_ASKED[target.arch], *target.features)]
        between = " &&\n      "
        test = f"if ({between.join(tests)}) " if tests else ""
        call = f"{_symbol(function, target)}({', '.join([*given, 'workspace', 'threads'])});"
        lines += [
            f"  {test}{{",
            *([f"    return {call}"] if function.sizes else [f"    {call}", "    return 0;"]),
            "  }",
        ]
    return "\n".join([*lines, "  return 1;", "}"]) + "\n"


def _cmake(function: Function) -> str:
    name = function.name
    objects = " ".join([_object_name(function, target) for target in function.routines])
    if function.constants.data and not function.in_file:
        objects += f" {_constants_name(function)}"
    return f"""cmake_minimum_required(VERSION 3.13)
project({name} C)
add_library({name} STATIC {name}.c {objects})
set_target_properties({name} PROPERTIES C_STANDARD 99 POSITION_INDEPENDENT_CODE ON)
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
target_link_libraries({name} PUBLIC m)
"""
