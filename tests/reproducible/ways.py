"""Runs programs compiled for other processors than this machine's, many at a time: each start of an emulator costs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import stagec
from tests.reproducible.programs import Program

# By target, the GCC that compiles for it, and the emulator.
TOOLS = {
    "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "riscv64": ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
    "x86-64-v2": ("gcc", ""),
    "x86-64-v3": ("gcc", ""),
    "x86-64-v4": ("gcc", ""),
}
Results = list[np.ndarray[Any, Any]]


def jitted(program: Program, target: str, reproducible: bool = True) -> Results:
    """The results in this process."""
    with stagec.enable_x64(program.doubles):
        function = stagec.jit(program.function, target=f"cpu:{target}", reproducible=reproducible)
        return [np.asarray(leaf) for leaf in stagec.tree.leaves(function(*program.arguments))]


def outside(program: Program, reproducible: bool = True) -> Results:
    """The results in this process outside `jit`, where each operation is computed by itself."""
    with stagec.enable_x64(program.doubles), stagec.config.override(reproducible=reproducible):
        found = program.function(*stagec.tree.map(stagec.numpy.asarray, program.arguments))
        return [np.ascontiguousarray(leaf).reshape(np.shape(leaf)) for leaf in stagec.tree.leaves(found)]


def written(program: Program, way: str, folder: str, name: str, reproducible: bool = True) -> Any:
    """Write the C library of a program for a target, or its WebAssembly module; returns what was exported."""
    with stagec.enable_x64(program.doubles):
        target = "x86-64-v2" if way == "wasm" else way
        made = stagec.export(program.function, f"cpu:{target}", reproducible=reproducible)(*program.arguments)
        (made.to_wasm if way == "wasm" else made.to_c)(folder, name=name)
    return made


def _given(program: Program) -> bytes:
    return b"".join([np.asarray(leaf).tobytes() for leaf in stagec.tree.leaves(program.arguments)])


def _read(data: bytes, exports: Mapping[int, Any]) -> dict[int, Results]:
    """The results of programs, which follow one another."""
    found, at = {}, 0
    for number, export in exports.items():
        found[number] = []
        for aval in export.out_avals:
            array = np.frombuffer(data, aval.dtype, aval.size, at).reshape(aval.shape)
            found[number].append(array)
            at += aval.nbytes
    assert at == len(data), "the program wrote all results"
    return found


_C = """
#define _POSIX_C_SOURCE 200112L
#include <stdio.h>
#include <stdlib.h>
{includes}
static void *room(size_t bytes)
{{
  void *found = NULL;
  if (posix_memalign(&found, 64, bytes + 64)) exit(3);
  return found;
}}

static void *taken(FILE *file, size_t bytes)
{{
  void *found = room(bytes);
  if (fread(found, 1, bytes, file) != bytes) exit(5);
  return found;
}}

int main(int count, char **paths)
{{
  FILE *given = fopen(paths[1], "rb"), *made = fopen(paths[2], "wb");
  if (count != 3 || !given || !made) return 4;
{body}
  return fclose(made);
}}
"""


def _call(number: int, export: Any) -> str:
    given = [f"taken(given, {aval.nbytes})" for aval in export.in_avals]
    lines = [f"void *in{i} = {text};" for i, text in enumerate(given)]
    lines += [f"void *out{i} = room({aval.nbytes});" for i, aval in enumerate(export.out_avals)]
    lines += [f"void *work = room(RUN{number}_WORKSPACE);"]
    names = [*(f"in{i}" for i in range(len(given))), *(f"out{i}" for i in range(len(export.out_avals))), "work"]
    lines += [f"if (run{number}({', '.join(names)}, NULL)) return 6;"]
    lines += [f"fwrite(out{i}, 1, {aval.nbytes}, made);" for i, aval in enumerate(export.out_avals)]
    lines += [f"free({name});" for name in names]
    return "  {\n" + "\n".join(f"    {line}" for line in lines) + "\n  }"


def run_c(programs: Mapping[int, Program], exports: Mapping[int, Any], target: str, folder: Path) -> dict[int, Results]:
    """The results of programs by their C libraries in a folder, in one program, by number."""
    compiler, emulator = TOOLS[target]
    includes = "\n".join(f'#include "run{number}.h"' for number in exports)
    body = "\n".join(_call(*row) for row in exports.items())
    (folder / "main.c").write_text(_C.format(includes=includes, body=body))
    (folder / "given").write_bytes(b"".join([_given(programs[number]) for number in exports]))
    sources = sorted(file for file in os.listdir(folder) if file.endswith((".c", ".o")))
    _ran([compiler, "-O1", "-std=c99", "-static", *sources, "-lm", "-o", "program"], folder)
    _ran([*filter(None, [emulator]), "./program", "given", "made"], folder)
    return _read((folder / "made").read_bytes(), exports)


_JAVASCRIPT = """
import { readFileSync, writeFileSync } from "node:fs";

const data = readFileSync("given"), parts = [];
let at = data.byteOffset;
for (const number of NUMBERS) {
  const { inputs, load, outputs } = await import(`./run${number}.js`);
  const call = await load();
  const given = inputs.map(({ array, length }) => {
    at += length * array.BYTES_PER_ELEMENT;
    return new array(data.buffer.slice(at - length * array.BYTES_PER_ELEMENT, at));
  });
  const made = call(...given);
  const all = outputs.length === 1 ? [made] : outputs.map(({ name }) => made[name]);
  parts.push(...all.map((one) => Buffer.from(one.buffer)));
}
writeFileSync("made", Buffer.concat(parts));
"""


def run_wasm(programs: Mapping[int, Program], exports: Mapping[int, Any], folder: Path) -> dict[int, Results]:
    """The results of programs by their WebAssembly modules in a folder, in Node, by number."""
    (folder / "main.mjs").write_text(_JAVASCRIPT.replace("NUMBERS", str(list(exports))))
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "given").write_bytes(b"".join([_given(programs[number]) for number in exports]))
    _ran(["node", "main.mjs"], folder)
    return _read((folder / "made").read_bytes(), exports)


def _ran(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, (command[0], done.returncode, done.stderr[-2000:])
