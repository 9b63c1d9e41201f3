"""snellen completion: the lines by which a shell completes commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from snellen.cli import terminal
from snellen.cli.groups import Command

VARIABLE = "_SNELLEN_COMPLETE"
"""Environment variable by which a shell asks for completions: click's convention."""


@click.command(
    cls=Command,
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
    kind = get_completion_class(shell)
    assert kind is not None
    terminal.out(*kind(ctx.find_root().command, {}, "snellen", VARIABLE).source().splitlines())
