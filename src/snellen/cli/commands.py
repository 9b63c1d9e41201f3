"""The commands by name. Each is a file of its own, imported when it is called: --help is quick."""

from __future__ import annotations

import os
from importlib import import_module

import click

from snellen._version import __version__
from snellen.cli import groups, recipes, terminal

COMMANDS = {
    "upscale": "Enlarge videos and images by super-resolution.",
    "deblur": "Make blurred videos and images sharp by MIA.",
    "score": "Compare videos and images with their originals by MAD.",
    "compare": "Write a report of videos or images side by side, as one HTML file.",
    "train": "Learn a model of A+, or a compact network, from a folder of images.",
    "bench": "Measure this machine: speed, memory, and that the result is right.",
    "doctor": "Say what works here: CPU, BLAS, GPU, encoders, models.",
    "completion": "Write what a shell runs to complete commands and options.",
}
EXAMPLES = (
    ("twice as wide and high, as photo-x2.png", "snellen upscale photo.png"),
    ("a photograph that was shaken, as photo-sharp.jpg", "snellen deblur photo.jpg"),
    ("how far a film is from its original", "snellen score film.mkv encoded.mp4"),
    ("all options of a command, by groups", "snellen upscale --help"),
)
_WITHOUT_SETTINGS = ("doctor", "completion")
"""Commands that take neither defaults nor recipes."""
VARIABLE = "_SNELLEN_COMPLETE"
"""Environment variable by which a shell asks for completions: click's convention."""


class _Lazy(click.Group):
    """Commands by name; the file behind one is imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = self.commands.get(cmd_name)
        if command is None:
            command = getattr(import_module(f"snellen.cli.{cmd_name}"), cmd_name)
        _allow_debug(command)
        if cmd_name not in _WITHOUT_SETTINGS:
            _allow_recipes(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups.write_examples(formatter, EXAMPLES)


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="snellen")
def cli() -> None:
    """Make pictures sharper, and say how sharp they are."""


@cli.command(
    cls=groups.Command,
    examples=[
        ("once, of fish", "snellen completion fish > ~/.config/fish/completions/snellen.fish"),
        ("a line of ~/.bashrc; likewise with zsh in ~/.zshrc",
         'eval "$(snellen completion bash)"'),
    ],
)  # fmt: skip
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Write what SHELL (bash, zsh, fish) runs to complete commands, options, values and files.

    Names of recipes are completed, too.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    terminal.out(*kind(ctx.find_root().command, {}, "snellen", VARIABLE).source().splitlines())


def invoke(words: list[str]) -> int:
    """Run the command line; return its exit code.

    Unlike click's own `main` it leaves interrupts and broken pipes to the caller.
    """
    if instruction := os.environ.get(VARIABLE):
        from click.shell_completion import shell_complete

        try:
            return shell_complete(cli, {}, "snellen", VARIABLE, instruction)
        except (KeyError, ValueError):  # no shell has asked: its variables are missing
            return 1
    try:
        with cli.make_context("snellen", list(words), obj=tuple(words)) as context:
            cli.invoke(context)
    except click.exceptions.Exit as end:
        return int(end.exit_code)
    return 0


def _allow_debug(command: click.Command) -> None:
    """Let a command take --debug, which `faults.watch` has read already."""
    if not any("--debug" in parameter.opts for parameter in command.params):
        debug = click.Option(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            help="After a fault of Snellen (exit code 4) print its traceback.",
        )
        groups.add(debug, groups.REPORT)
        command.params.append(debug)
    if isinstance(command, click.Group):
        for one in command.commands.values():
            _allow_debug(one)


def _allow_recipes(command: click.Command) -> None:
    """Let a command, and those below it, take --recipe, --config and --no-config."""
    if isinstance(command, click.Group):
        for one in command.commands.values():
            _allow_recipes(one)
    elif not any("--recipe" in parameter.opts for parameter in command.params):
        for option in recipes.options():
            groups.add(option, groups.DEFAULTS)
            command.params.append(option)


_allow_debug(cli)
