"""`stagec dump`: a function at any stage between its graph and its assembly."""

from __future__ import annotations

import click

from stagec.api.stages import Lowered
from stagec.commands.calls import described, enabled_dtypes, trace_options
from stagec.commands.common import OutputFile, bytes_text, failure, target_option, usage, user_output
from stagec.compiler.stages import STAGES

# The stage that is not text.
_PORTABLE = "portable"
_ALL_STAGES = ("graph", *STAGES, _PORTABLE)
# The stages that can show the user's lines.
_WITH_LOCATIONS = ("stablehlo", "optimized", _PORTABLE)


@click.command(
    short_help="Print a function at any stage, from its graph to assembly.",
    epilog='Example: stagec dump train:loss "f32[8,784]" "{\'w\': f32[784,10]}" --stage optimized',
)
@click.argument("function")
@click.argument("arguments", nargs=-1)
@click.option(
    "--stage",
    type=click.Choice(_ALL_STAGES, case_sensitive=False),
    default="stablehlo",
    show_default=True,
    help="How far to go; `flow` to `vm` are the compiler's phases, and `portable` is for other compilers.",
)
@click.option("--target", callback=target_option, help="What to compile for, such as cpu:x86-64-v3 or cuda:sm_80.")
@trace_options
@click.option(
    "--stablehlo-version", metavar="VERSION", help="The oldest StableHLO version that must read the file (portable)."
)
@click.option(
    "--locations/--no-locations", default=False, help="Show the lines of the source (stablehlo, optimized, portable)."
)
@click.option("-o", "--output", type=OutputFile(), help="Write to a file.")
def dump(
    function: str,
    arguments: tuple[str, ...],
    stage: str,
    target: str | None,
    fast_math: bool,
    x64: bool,
    static: tuple[str, ...],
    stablehlo_version: str | None,
    locations: bool,
    output: str | None,
) -> None:
    """Print FUNCTION (module:name or file.py:name) at a stage of its compilation.

    ARGUMENTS describe its arguments: f32[2,3] or i32[] for arrays, 2.0 for a
    number, {'w': f32[3]} for a container, scale=f32[] for one by its name.
    FUNCTION may be a file with a StableHLO module, too, which describes its
    arguments itself.
    What the module itself prints goes to standard error.
    """
    if locations and stage not in _WITH_LOCATIONS:
        raise usage(
            f"--locations does not go with --stage {stage}",
            f"leave it out, or use --stage {' or --stage '.join(_WITH_LOCATIONS)}",
        )
    if stage == _PORTABLE and output is None:
        raise usage("--stage portable is not text", "name a file with -o")
    if stage != _PORTABLE and stablehlo_version is not None:
        raise usage(f"--stablehlo-version does not go with --stage {stage}", "leave it out, or use --stage portable")
    with enabled_dtypes(function, x64):
        with user_output():
            chosen, args, kwargs = described(function, arguments, static, target, fast_math)
            lowered = chosen.lower(*args, **kwargs)
        if stage == _PORTABLE:
            _write_portable(lowered, stablehlo_version, locations, str(output))
            return
        text = lowered.as_text(stage, locations=locations)
    if not text.strip():
        raise failure(
            f"{stage} of {function} is empty",
            "use another --stage; a function that computes nothing has no kernels, and Vulkan's no LLVM IR",
        )
    if output is None:
        click.echo(text.rstrip("\n"))
        return
    with open(output, "w", encoding="utf-8") as file:
        file.write(text.rstrip("\n") + "\n")
    click.echo(f"wrote {len(text.splitlines())} lines to {output}", err=True)


def _write_portable(lowered: Lowered, version: str | None, locations: bool, output: str) -> None:
    try:
        artifact = lowered.serialize(version, locations=locations)
    except ValueError as error:
        raise usage(str(error)) from None
    with open(output, "wb") as file:
        file.write(artifact)
    click.echo(f"wrote {bytes_text(len(artifact))} to {output}", err=True)
