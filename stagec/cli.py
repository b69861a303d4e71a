"""The command `stagec`, and its subcommands, each of which is imported when it is used."""

from __future__ import annotations

import importlib
import pathlib
import sys
from typing import Any

import click

from stagec.commands.common import describe, versions
from stagec.core.errors import NotInstalledError, not_installed

# By what they are for, modules of `stagec.commands`, each with the name of its command; imported when that is used.
_SECTIONS = {
    "Compile and run here": {"demo": "demo", "cache": "cache", "warm": "warm", "doctor": "doctor"},
    "Look inside": {"dump": "dump", "view": "view"},
    "Ship": {"compile": "compile_function", "run": "run", "inspect": "inspect"},
}
_COMMANDS = {name: command for section in _SECTIONS.values() for name, command in section.items()}


class Commands(click.Group):
    """A group whose commands are imported when used, and fail with one message instead of a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(map(len, _COMMANDS))
        for title, names in _SECTIONS.items():
            found = {name: self.get_command(ctx, name) for name in names}
            helps = {n: c.get_short_help_str(formatter.width - longest - 6) for n, c in found.items() if c is not None}
            with formatter.section(title):
                formatter.write_dl([(f"{name:{longest}}", text) for name, text in helps.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        try:
            module = importlib.import_module(f"stagec.commands.{cmd_name}")
        except ModuleNotFoundError as missing:
            return _NotInstalled(cmd_name, not_installed(f"stagec {cmd_name}", missing))
        command: click.Command = getattr(module, _COMMANDS[cmd_name])
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if ctx.params.get("traceback"):
                raise
            raise click.ClickException(describe(error)) from error


class _NotInstalled(click.Command):
    """A command that this installation lacks; with any arguments, it says why."""

    def __init__(self, name: str, reason: ImportError) -> None:
        if not isinstance(reason, NotInstalledError):
            raise reason
        super().__init__(name, short_help="Not part of stagec-runtime.", add_help_option=False)
        self._reason = reason

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        raise click.ClickException(str(self._reason))


_SHOWN = ("iree-base-compiler", "iree-base-runtime", "numpy", "python")


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        found = versions()
        others = ", ".join(f"{name} {found[name] or 'missing'}" for name in _SHOWN)
        click.echo(f"stagec {found['stagec']} ({others})")
        ctx.exit()


@click.group(
    cls=Commands,
    epilog="Each command has an example: stagec view --help",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show versions.")
@click.option("--traceback", is_flag=True, help="Show the traceback of an error.")
def cli(traceback: bool) -> None:
    """Compile NumPy-style Python functions, run them, and inspect the compiled programs."""


def main() -> None:
    """Run the command line; this is the entry point of the commands `stagec` and `stagec-runtime`."""
    # Without the ending that scripts have on Windows.
    called = pathlib.Path(sys.argv[0]).stem
    cli(prog_name=called if called == "stagec-runtime" else "stagec")
