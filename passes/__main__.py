"""`python -m passes file.mlir`: run a pipeline on a StableHLO file and print the result."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from passes import bindings, pipeline
from passes.errors import InvalidModuleError, PassError, PipelineError, message
from passes.trial import Trial


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns 0, 1 for a bad module, 2 for bad arguments.

    >>> main(["--list"])  # doctest: +ELLIPSIS
    default...
    0
    """
    parser = argparse.ArgumentParser(prog="python -m passes", description="Rewrite StableHLO modules.")
    parser.add_argument("file", nargs="?", help="a .mlir or .mlirbc file, or - for standard input")
    parser.add_argument("--pipeline", default="default", help="comma-separated names of passes (see --list)")
    parser.add_argument("--fast-math", action="store_true", help="allow laws that can change bits")
    parser.add_argument("--laws", default="cpu", help="what the target needs rewritten: cpu, spirv (Vulkan) or gpu")
    parser.add_argument("--report", action="store_true", help="time and matches of each pass, on standard error")
    parser.add_argument("--locations", action="store_true", help="print the locations of ops")
    parser.add_argument("--list", action="store_true", help="list the passes and exit")
    parser.add_argument("-o", "--output", default="-", help="where to write; - is standard output")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(pipeline.pass_names()))
        return 0
    try:
        if options.file is None:
            raise _Usage(message("no input file", fix="name a file, or - for standard input"))
        # Unknown names are reported before the compiler is loaded.
        pipeline.parse(options.pipeline)
        settings = pipeline.PassOptions(fast_math=options.fast_math, laws=options.laws)
        text = _run(options, settings)
        if options.output == "-":
            sys.stdout.write(text)
        else:
            Path(options.output).write_text(text)
    except (_Usage, PipelineError) as error:
        return _fail(error, 2)
    except OSError as error:
        return _fail(_Usage(message(f"{error.filename}: {error.strerror}", fix="check the path")), 2)
    except PassError as error:
        return _fail(error, 1)
    return 0


class _Usage(Exception):
    """The command line names no input, or a file that cannot be used."""


def _fail(error: Exception, code: int) -> int:
    print(f"error: {error}", file=sys.stderr)
    return code


def _run(options: argparse.Namespace, settings: pipeline.PassOptions) -> str:
    source = sys.stdin.buffer.read() if options.file == "-" else _content(Path(options.file))
    module = _parse(source, options.file)
    report = pipeline.run(module, options.pipeline, options=settings)
    if options.report:
        print(report, file=sys.stderr)
    return str(module.operation.get_asm(enable_debug_info=options.locations))


def _content(path: Path) -> bytes:
    if path.is_char_device() or path.is_block_device():  # which may never end
        raise _Usage(message(f"{path} is a device", fix="name a file, or - for standard input"))
    return path.read_bytes()


def _parse(source: bytes, name: str) -> Any:
    fix = "give a StableHLO module, as text or bytecode"
    try:
        given = source if source.startswith(b"ML\xefR") else source.decode()
    except UnicodeDecodeError:
        raise InvalidModuleError(message(f"{name} is neither MLIR text nor bytecode", fix=fix)) from None
    with Trial() as trial:
        fault = trial.fault(source)
    if not fault:
        try:
            return bindings.ir.Module.parse(given, bindings.new_context())
        except bindings.ir.MLIRError as error:  # an unregistered dialect, which the trial allows
            fault = str(error)
    lines = [line.strip() for line in fault.splitlines() if line.strip()]
    values = [("parser", line) for line in lines[1:4] or lines]
    raise InvalidModuleError(message(f"{name} does not parse", values=values, fix=fix))


if __name__ == "__main__":
    sys.exit(main())
