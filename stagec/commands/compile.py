"""`stagec compile`: a function as a file, for machines without a compiler."""

from __future__ import annotations

import os
import time
from typing import Any, Literal

import click

import stagec
from stagec.commands.calls import described, enabled_dtypes, trace_options
from stagec.commands.common import OutputFile, bytes_text, failure, seconds_text, target_option, unwritable, user_output


class _Output(OutputFile):
    """A file; of a C library or a WebAssembly module, a folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        is_folder = ctx is not None and ctx.params.get("emit") in ("c", "wasm")
        if not is_folder:
            return super().convert(value, param, ctx)
        if refusal := unwritable(folder := os.fsdecode(value)):
            raise failure(f"{folder} cannot be written to: {refusal}", "write to another directory")
        return folder


@click.command(
    name="compile",
    short_help="Compile a function into a file, a C library or a page.",
    epilog='Example: stagec compile train:predict "f32[64,784]" -o model.stagec --target cpu:x86-64-v3 --target vulkan',
)
@click.argument("function")
@click.argument("arguments", nargs=-1)
@click.option(
    "--emit",
    type=click.Choice(["file", "c", "wasm", "html"]),
    default="file",
    is_eager=True,  # the output depends on it
    help="What to write: a file for stagec.load, a C library, a WebAssembly module, or a page that runs the function. "
    "By default a file.",
)
@click.option(
    "-o", "--output", required=True, type=_Output(), help="The file to write, or the folder for a library or module."
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    callback=target_option,
    help="What to compile for, such as cpu:x86-64-v3, vulkan, cuda:sm_80 or rocm:gfx942; may be repeated. "
    "By default this machine's x86-64 level.",
)
@click.option("--name", help="The name of the function in what is written.")
@click.option("--no-weights", is_flag=True, help="Leave out the arrays that the function closes over.")
@click.option(
    "--weights-file",
    is_flag=True,
    help="With --emit c or --emit wasm, put these arrays into a file of their own, which programs map into memory and "
    "pages load.",
)
@click.option(
    "--threads", is_flag=True, help="With --emit wasm, let workers share the work, in Node and isolated pages."
)
@click.option("--reproducible", is_flag=True, help="The same bits of results on all processors.")
@trace_options
def compile_function(
    function: str,
    arguments: tuple[str, ...],
    emit: str,
    output: str,
    targets: tuple[str, ...],
    name: str | None,
    no_weights: bool,
    weights_file: bool,
    threads: bool,
    reproducible: bool,
    fast_math: bool,
    x64: bool,
    static: tuple[str, ...],
) -> None:
    """Compile FUNCTION (module:name or file.py:name) into a file.

    ARGUMENTS describe its arguments: f32[2,3] or i32[] for arrays, 2.0 for a
    number, {'w': f32[3]} for a container, scale=f32[] for one by its name.
    FUNCTION may be a file with a StableHLO module, too (MLIR, or what
    `jax.export` serializes), which describes its arguments itself. `stagec run` and `stagec.load` run
    the file, without a compiler. With --emit c and --emit wasm, C programs and web pages call the function, without
    Python; --emit html writes such a page.
    """
    if emit != "file" and no_weights:
        raise click.UsageError("--no-weights is for files: a library holds the arrays that the function closes over")
    if weights_file and emit not in ("c", "wasm"):
        raise click.UsageError("--weights-file is for --emit c and --emit wasm")
    if threads and emit != "wasm":
        raise click.UsageError("--threads is for --emit wasm: C libraries take threads from their callers")
    started = time.perf_counter()
    with enabled_dtypes(function, x64):
        with user_output():
            chosen, args, kwargs = described(function, arguments, static, fast_math=fast_math)
            exporting = stagec.export(chosen, targets, weights=not no_weights, reproducible=reproducible)
            exported = exporting(*args, **kwargs)
        if emit == "file":
            stagec.save(output, {name or exported.fun_name: exported})
            files = [output]
        elif emit == "c":
            files = exported.to_c(output, name=name or "", weights="file" if weights_file else "object")
        elif emit == "html":
            exported.to_html(output, name=name or "")
            files = [output]
        else:
            weights: Literal["file", "module"] = "file" if weights_file else "module"
            files = exported.to_wasm(output, name=name or "", weights=weights, threads=threads)
    size, took = bytes_text(sum(map(os.path.getsize, files))), seconds_text(time.perf_counter() - started)
    where = ", ".join(exported.targets) if emit in ("file", "c") else "WebAssembly"
    click.echo(f"wrote {output}: {exported.fun_name} for {where} ({size}, {took})")
    if emit == "c":
        click.echo(f"a program links it: cc -I{output} main.c {output}/*.c {output}/*.o -lm")
