"""The command line: snellen COMMAND; commands.py has their names.

Exit codes: 0 done · 1 the result could not be written · 2 wrong use, unusable input or device ·
3 the input was damaged, what was decodable is written · 4 a fault of Snellen · 130 interrupted ·
141 the reader of standard output has gone away.

This module imports nothing that takes time, so that a signal meets `main` from the first moment on.
"""

from __future__ import annotations

import sys

from snellen.cli import interrupts

TYPE_CHECKING = False  # typing would take as long to import as all else
if TYPE_CHECKING:
    from typing import Any

PIPE_CODE = 141
"""As a shell shows a process that SIGPIPE ended."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line, and exit unless its code is 0; errors are one line on stderr.

    Parameters
    ----------
    arguments : list of str, optional
        None: those of this process. Then its streams and hooks are taken over, too.
    """
    before: dict[int, Any] = {}
    program = arguments is None
    try:
        before = interrupts.install()
        code = _run(sys.argv[1:] if arguments is None else arguments, program)
        interrupts.check()
        if program:
            interrupts.end(code)
    except KeyboardInterrupt:
        code = interrupts.CODE
        _interrupted(program)
        if program:
            interrupts.end(code)
    if program:
        interrupts.leave(code)
    else:
        interrupts.restore(before)
    if code:
        sys.exit(code)


def _run(words: list[str], program: bool) -> int:
    """Run the command line; return the exit code."""
    from snellen.cli import terminal

    terminal.hide(words)
    if program:
        terminal.prepare()
    from snellen.cli import faults

    if program:
        faults.hook()
    faults.watch(words)
    code = 0
    try:
        code = _command(words)
        interrupts.check()
        terminal.finish()
    except terminal.Lost as lost:
        said = code != 0  # the command failed, and has said so
        code = code or (PIPE_CODE if lost.is_pipe else 1)
        if not (said or lost.is_pipe):
            reason = lost.error.strerror or lost.error
            terminal.err(f"error: standard output could not be written: {reason}")
        if program:
            terminal.abandon()
    except BrokenPipeError:  # in click's own help
        code = PIPE_CODE
        if program:
            terminal.abandon()
    except Exception as error:
        interrupts.insist()
        code = faults.report(error)
        if program:
            terminal.abandon()
    if terminal.is_blocked():
        interrupts.leave_at_once(code)
    return code or faults.found()


def _command(words: list[str]) -> int:
    """Run a command; return its exit code."""
    import click

    from snellen.cli import terminal
    from snellen.cli.commands import invoke
    from snellen.errors import shortened

    try:
        return invoke(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except click.exceptions.NoArgsIsHelpError as error:
        terminal.err(*error.format_message().splitlines())
        return error.exit_code
    except click.ClickException as error:
        interrupts.insist()
        said = shortened(" ".join(error.format_message().split("\n")))
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else _named(words)
        terminal.err(f"error: {said.rstrip('.')}; {path} --help lists what there is")
        return error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None


def _named(words: list[str]) -> str:
    """Return the command of a line that click could not split into options."""
    from snellen.cli.commands import COMMANDS

    return f"snellen {words[0]}" if words and words[0] in COMMANDS else "snellen"


def _interrupted(program: bool) -> None:
    from snellen.cli import terminal

    terminal.err("error: interrupted; nothing incomplete is left under an output's name")
    if program:
        terminal.abandon()
    if terminal.is_blocked():
        interrupts.leave_at_once(interrupts.CODE)
