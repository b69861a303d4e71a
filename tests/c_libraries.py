"""Builds C libraries that stagec wrote, and runs them in programs of their own."""

import os
import shutil
import subprocess

import numpy as np
import pytest

import stagec
from stagec.backends.cpu import portable_host
from stagec.core.dims_values import symbols

STRICT = ["-std=c99", "-D_POSIX_C_SOURCE=200112L", "-pedantic", "-Wall", "-Wextra", "-Werror"]
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
# What tests compile for, and compare with.
LEVEL = portable_host()


def tool(*names):
    """The path of the first of some programs that is here; without one, the test is skipped."""
    for name in names:
        if shutil.which(name):
            return name
    pytest.skip(f"there is no {' or '.join(names)} here")


def written(function, arguments, folder, targets=LEVEL):
    """Export a function for these arguments, and write its C library; returns what was exported."""
    exported = stagec.export(function, targets)(*arguments)
    exported.to_c(folder, name="f")
    return exported


# Arrays end where memory of `malloc` ends, so that a sanitizer finds what is read or written beyond them. They begin
# at a multiple of the size of their elements only.
_MAIN = """
#include "f.h"
#include <stdio.h>
#include <stdlib.h>
{threads}
static void *room(size_t bytes, size_t alignment)
{{
  void *found = NULL;
  if (posix_memalign(&found, alignment < 8 ? 8 : alignment, bytes ? bytes : 1)) exit(3);
  return found;
}}

int main(int count, char **paths)
{{
  FILE *given = fopen(paths[1], "rb"), *made = fopen(paths[2], "wb");
  if (count != 3 || !given || !made) return 4;
{body}
  return fclose(made) || fclose(given);
}}
"""
# Half of the workgroups run on another thread.
_THREADS = """
#include <pthread.h>
typedef struct { uint32_t first, count; void (*task)(void *, uint32_t); void *state; } share;
static unsigned shared;
static void *work_through(void *of)
{
  share *s = of;
  for (uint32_t i = s->first; i < s->count; i += 2) s->task(s->state, i);
  return NULL;
}
static void two(void *context, uint32_t count, void (*task)(void *, uint32_t), void *state)
{
  share first = {0, count, task, state}, second = {1, count, task, state};
  pthread_t other;
  ++*(unsigned *)context;
  if (pthread_create(&other, NULL, work_through, &second)) exit(8);
  work_through(&first);
  pthread_join(other, NULL);
}
static const stagec_threads both = {two, &shared};
"""


def avals(exported, sizes=()):
    """The avals of the arguments and of the results of a function for its open sizes, in the order of its arguments."""
    known = [exported.in_avals, exported.out_avals]
    values = dict(zip(symbols([a.shape for part in known for a in part]), sizes))
    return [[a.at(values) for a in part] for part in known]


def main_source(exported, threads=False, calls=2, sizes=()):
    """A program in C that reads the arguments from a file, calls the function, and writes the results to a file."""
    lines, names = [], list(map(str, sizes))
    taken, made = avals(exported, sizes)
    for i, aval in enumerate(taken):
        lines.append(f"void *in{i} = room({aval.nbytes}, {aval.dtype.itemsize});")
        lines.append(f"if (fread(in{i}, 1, {aval.nbytes}, given) != {aval.nbytes}) return 5;")
        names.append(f"in{i}")
    lines += [f"void *out{i} = room({a.nbytes}, {a.dtype.itemsize});" for i, a in enumerate(made)]
    names += [f"out{i}" for i in range(len(made))]
    lines.append("void *work = room(F_WORKSPACE, 16);")
    last = "&both" if threads else "NULL"
    lines.append(f"for (int i = 0; i < {calls}; i++) if (f({', '.join([*names, 'work', last])})) return 6;")
    for i, aval in enumerate(made):
        lines.append(f"if (fwrite(out{i}, 1, {aval.nbytes}, made) != {aval.nbytes}) return 7;")
    lines += [f"free({name});" for name in (*names[len(sizes) :], "work")]
    if threads:
        lines.append("if (!shared) return 9;")
    return _MAIN.format(body="\n".join(f"  {line}" for line in lines), threads=_THREADS if threads else "")


def ran(folder, exported, arguments, flags=(), compiler="", runner=(), threads=False, sizes=()):
    """The results of the function in a program of its own.

    Args:
      flags: further ones of the compiler's.
      compiler: one for another processor.
      runner: a command that runs programs for that processor.
      threads: whether two threads share the work.
      sizes: those that are open.
    """
    folder = os.fspath(folder)
    with open(os.path.join(folder, "main.c"), "w") as file:
        file.write(main_source(exported, threads, sizes=sizes))
    with open(os.path.join(folder, "given"), "wb") as file:
        file.writelines(np.asarray(leaf).tobytes() for leaf in stagec.tree.leaves(arguments))
    objects = [f for f in os.listdir(folder) if f.endswith(".o")]
    command = [compiler or tool("gcc", "clang", "cc"), *STRICT, *flags, "main.c", "f.c", *objects, "-o", "program"]
    if threads:
        command.append("-pthread")
    subprocess.run([*command, "-lm"], cwd=folder, check=True)
    done = subprocess.run(
        [*runner, "./program", "given", "made"], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert not (done.returncode or done.stderr), (done.returncode, done.stderr)
    with open(os.path.join(folder, "made"), "rb") as file:
        data = file.read()
    found = []
    for aval in avals(exported, sizes)[1]:
        found.append(np.frombuffer(data[: aval.nbytes], aval.dtype).reshape(aval.shape))
        data = data[aval.nbytes :]
    assert data == b""
    return found


def assert_same_bits(found, expected):
    """Compare arrays with the leaves of a pytree."""
    for a, b in zip(found, stagec.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(a, np.asarray(b))
        assert a.tobytes() == np.asarray(b).tobytes()
