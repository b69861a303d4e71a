"""`stagec inspect`: what a file of compiled functions holds."""

from __future__ import annotations

import os
from typing import Any

import click
import numpy as np

from stagec.artifact import trees
from stagec.artifact.container import open_path
from stagec.artifact.manifest import Signature, Variant
from stagec.artifact.parameters import Shown, layout, signature_of
from stagec.artifact.stored import File
from stagec.artifact.variants import describe_variant
from stagec.commands.common import OutputFile, bytes_text, print_json, usage


@click.command(
    short_help="Show what a compiled file holds.",
    epilog="Example: stagec inspect model.stagec --extract cpu:x86-64-v3 -o module.vmfb",
)
@click.argument("file", type=click.Path(dir_okay=False, exists=True))
@click.option("--function", help="Which function to show; by default all of them.")
@click.option("--stablehlo", is_flag=True, help="Print the StableHLO instead.")
@click.option("--extract", metavar="TARGET", help="Write the compiled module for a target to -o, for IREE's tools.")
@click.option("-o", "--output", type=OutputFile(), help="Where --extract writes.")
@click.option("--check", is_flag=True, help="Check the checksums of all sections, including code for other machines.")
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON.")
def inspect(
    file: str,
    function: str | None,
    stablehlo: bool,
    extract: str | None,
    output: str | None,
    check: bool,
    as_json: bool,
) -> None:
    """Show the functions of FILE: signatures, variants, sizes, and what made them."""
    opened = File(open_path(file))
    if check:
        opened.container.check_all()
    functions = opened.manifest.functions
    if function is not None and function not in functions:
        raise usage(f"{file} has no function {function!r}", f"use one of {', '.join(functions)}")
    chosen = [(n, s) for n, rows in functions.items() for s in rows if function in (None, n)]
    if extract is not None:
        _extract(opened, chosen, extract, output)
    elif stablehlo:
        for name, signature in chosen:
            click.echo(opened.stablehlo(name, signature).rstrip() or f"// {name} computes nothing")
    elif as_json:
        print_json({"path": file, "digest": opened.container.digest, **opened.container.manifest})
    else:
        _show(file, opened, chosen, check)


def _show(path: str, file: File, chosen: list[tuple[str, Signature]], checked: bool) -> None:
    container, versions = file.container, file.manifest.versions
    click.echo(f"{path}  {bytes_text(container.nbytes)}{', all checksums are right' if checked else ''}")
    click.echo(f"  digest   {container.digest}")
    click.echo(f"  made by  {', '.join(f'{name} {version.split()[0]}' for name, version in versions.items())}")
    for number, weight in enumerate(file.rows()):
        stored = "not in the file" if weight.section is None else bytes_text(weight.aval.nbytes)
        click.echo(f"  weight {number}  {weight.aval.long()}  {stored}")
    for name, signature in chosen:
        click.echo(f"\n{name}{_signature_text(signature)}")
        _table(_argument_rows(signature))
        click.echo(f"  returns  {_result_text(signature)}")
        rows: list[tuple[str, ...]] = []
        for v in signature.variants:
            size = bytes_text(container.size(v.section))
            rows.append((f"    {v.target}", size, v.traits.driver, f"flags {v.flags}", describe_variant(v)))
        click.echo("  variants" if rows else "  nothing to compute")
        _table(rows)
        if signature.stablehlo is not None:
            packed = bytes_text(container.size(signature.stablehlo.section))
            click.echo(f"  StableHLO  {bytes_text(signature.stablehlo.length)}, {packed} compressed")


def _table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def _argument_rows(signature: Signature) -> list[tuple[str, ...]]:
    hidden = len(signature.weights)
    returned = {index for kind, index in signature.plan if kind == "input"}
    rows: list[tuple[str, ...]] = []
    for i, (name, aval) in enumerate(zip(signature.names, signature.in_avals)):
        notes = ["donated"] * (i in signature.donated)
        notes += ["not read by the program"] * (hidden + i not in {*signature.used, *returned})
        rows.append((f"  {name}", aval.long(), ", ".join(notes)))
    rows += [(f"  {p.name}", "fixed", p.fixed) for p in signature.parameters if p.fixed is not None]
    return rows


def _signature_text(signature: Signature) -> str:
    try:
        return str(signature_of(layout(signature.parameters, trees.decode(signature.in_tree))))
    except trees.ClassMissing:
        return f"({', '.join(p.name for p in signature.parameters)})"


def _result_text(signature: Signature) -> str:
    avals = [a.long() for a in signature.out_avals]
    try:
        return repr(trees.decode(signature.out_tree).unflatten(map(Shown, avals)))
    except trees.ClassMissing:
        return f"a class that is not imported here, with {', '.join(avals) or 'no arrays'}"


def _extract(file: File, chosen: list[tuple[str, Signature]], target: str, output: str | None) -> None:
    if output is None:
        raise usage("--extract needs a file to write to", "add -o module.vmfb")
    found = [(n, s, v) for n, s in chosen for v in s.variants if v.target == target]
    if not found:
        known = dict.fromkeys(v.target for _, s in chosen for v in s.variants)
        raise usage(f"there is no module for {target!r}", f"use one of {', '.join(known) or 'no target'}")
    if len({n for n, _, _ in found}) > 1:
        raise usage(f"there are modules for {target!r} of several functions", "choose one with --function")
    if len(found) > 1:
        shown = "; ".join(", ".join(a.short() for a in s.in_avals) for _, s, _ in found)
        raise usage(f"{found[0][0]} has several signatures: {shown}", "export them to separate files")
    name, signature, variant = found[0]
    content = file.container.section(variant.section, f"the module of {name} for {target}")
    with open(output, "wb") as stream:
        stream.write(content)
    click.echo(_command(file, signature, variant, output))


def _command(file: File, signature: Signature, variant: Variant, output: str) -> str:
    """How IREE's own tool runs the module; weights are written next to it."""
    stem = os.path.splitext(output)[0]
    hidden = len(signature.weights)
    notes: list[str] = []
    words = [f"iree-run-module --device={variant.traits.driver} --module={output} --function=main"]
    for i in signature.used:
        if i >= hidden:
            name, aval = signature.names[i - hidden], signature.in_avals[i - hidden]
            path = f"{_file_name(name)}.npy"
            notes.append(f"# {path}: {name}, {aval.long()}")
        else:
            number = signature.weights[i]
            path = f"{stem}.weight{number}.npy"
            if file.rows()[number].section is None:
                notes.append(f"# {path}: weight {number}, {file.rows()[number].aval.long()}")
            else:
                value: Any = file.weight(number)
                np.save(path, np.asarray(value))
        words.append(f"--input=@{path}")
    for number, packing in enumerate(variant.traits.packed):
        path, weight = f"{stem}.packed{number}.npy", signature.weights[signature.used[packing.argument]]
        if file.rows()[weight].section is None:
            notes.append(f"# {path}: {packing.aval.long()}, elements of weight {weight} in the order of the product")
        else:
            np.save(path, packing.of(np.asarray(file.weight(weight))))
        words.append(f"--input=@{path}")
    return "\n".join([*notes, " \\\n  ".join(words)])


def _file_name(leaf: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in leaf).strip("_") or "argument"
