"""The `stagec` command: what is compiled, what is on disk, and whether this machine is ready."""

from __future__ import annotations

from typing import Any

import click

from stagec.commands.cache import cache
from stagec.commands.common import describe
from stagec.commands.compile import compile_function
from stagec.commands.demo import demo
from stagec.commands.doctor import doctor, versions
from stagec.commands.dump import dump
from stagec.commands.inspect import inspect
from stagec.commands.run import run
from stagec.commands.warm import warm


class Commands(click.Group):
    """A group whose commands fail with one message instead of a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if ctx.params.get("traceback"):
                raise
            raise click.ClickException(describe(error)) from error


_SHOWN = ("iree-base-compiler", "iree-base-runtime", "numpy", "python")


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        found = versions()
        others = ", ".join(f"{name} {found[name] or 'missing'}" for name in _SHOWN)
        click.echo(f"stagec {found['stagec']} ({others})")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show versions.")
@click.option("--traceback", is_flag=True, help="Show the traceback of an error.")
def cli(traceback: bool) -> None:
    """Compile NumPy-style Python functions, and see what became of them."""


cli.add_command(demo)
cli.add_command(dump)
cli.add_command(compile_function)
cli.add_command(run)
cli.add_command(inspect)
cli.add_command(cache)
cli.add_command(warm)
cli.add_command(doctor)


def main() -> None:
    """Run the command line; this is the entry point of the `stagec` command."""
    cli(prog_name="stagec")
