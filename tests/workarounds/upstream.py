"""Reports of IREE's faults, as they would be filed: `python -m tests.workarounds.upstream FOLDER [--count N]`.

Each is written from a record; the smallest programs for CPUs come first. A report has the module, the commands of
IREE's own tools, what they should print, and the report of others if one was found.
"""

from __future__ import annotations

import argparse
import pathlib
import shlex
import textwrap

import numpy as np

from passes.numeric.interpreter import interpret
from stagec.backends.record import VECTOR_SUMS
from tests.workarounds.records import ALL, Program, Symptom, Workaround

# Those that IREE's tools show without any of stagec's flags.
_SHOWN = (Symptom.WRONG, Symptom.REFUSED, Symptom.CRASH)
_FLAGS = (
    "--iree-input-type=stablehlo",
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-input-demote-f64-to-f32=false",
)
_ELEMENTS = {"float": "f", "int": "i", "uint": "i", "bool": "i"}


def smallest(count: int) -> list[tuple[Workaround, Program]]:
    """Records whose programs IREE's tools can run, the shortest texts first."""
    found = [
        (record, record.shown_by)
        for record in ALL
        if record.symptom in _SHOWN and isinstance(record.shown_by, Program) and _is_plain(record.shown_by)
    ]
    return sorted(found, key=lambda one: len(one[1].text))[:count]


def _is_plain(program: Program) -> bool:
    """Whether one call of a program for CPUs, on inputs that commands can have, shows its fault."""
    small = all(a.size <= 64 and a.dtype.name.rstrip("0123456789") in _ELEMENTS for a in program.inputs)
    return program.target == "cpu" and program.calls == 1 and not program.placed and small


def report(record: Workaround, program: Program) -> str:
    """The report in Markdown: a title, the module, the commands, and what they should print."""
    flags = [flag for flag in (*_FLAGS, *program.flags) if flag not in (program.flag, VECTOR_SUMS)]
    compile_ = shlex.join(["iree-compile", "main.mlir", *flags, "-o", "main.vmfb"])
    inputs = [f"--input={written(array)}" for array in program.inputs]
    run = shlex.join(["iree-run-module", "--device=local-sync", "--module=main.vmfb", "--function=main", *inputs])
    if record.symptom is Symptom.WRONG:
        right = "\n".join(written(np.asarray(one)) for one in interpret(program.text, *program.inputs))
        expected = f"The result should be\n\n```text\n{right}\n```\n\nand the last command prints another one."
    elif program.shows:
        expected = f"The module should compile and run, and there is an error: `{program.shows}`."
    else:
        expected = "The module should compile and run, and a command crashes."
    related = "" if record.upstream.startswith("none found") else f"\n\nPerhaps related: {record.upstream}."
    fault = textwrap.fill(record.fault, 118)
    return f"""# {record.id.replace("-", " ").capitalize()}

{fault}.

Seen in {", ".join(record.versions)} of `iree-base-compiler` and `iree-base-runtime`.

```mlir
{program.text.strip()}
```

```sh
{compile_}
{run}
```

{expected}{related}
"""


def written(array: np.ndarray) -> str:
    """An array as IREE's tools read and print it.

    >>> written(np.array([[1.5, 2]], np.float32))
    '1x2xf32=[1.5 2]'
    """
    kind = array.dtype.name.rstrip("0123456789")
    element = f"{_ELEMENTS[kind]}{1 if kind == 'bool' else array.dtype.itemsize * 8}"

    def rows(part: np.ndarray) -> str:
        if part.ndim == 0:
            return f"{part.item():.9g}" if kind == "float" else str(int(part))
        between = " " if part.ndim == 1 else "]["
        text = between.join(rows(one) for one in part)
        return text if part.ndim == 1 else f"[{text}]"

    return f"{'x'.join([*map(str, array.shape), element])}={rows(array)}"


def main(arguments: list[str] | None = None) -> None:
    """Write the reports."""
    parser = argparse.ArgumentParser(prog="python -m tests.workarounds.upstream", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=20)
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    for record, program in smallest(given.count):
        (given.folder / f"{record.id}.md").write_text(report(record, program))


if __name__ == "__main__":
    main()
