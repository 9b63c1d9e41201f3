"""The command line: snellen upscale | deblur | score | train | bench | doctor.

Each command is a file of its own, imported when it is called, so that `snellen --help` is quick.
Exit codes: 0 done · 1 the result could not be written · 2 wrong use, unusable input or device ·
3 the input was damaged, what was decodable is written · 130 interrupted.
"""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from types import FrameType
from typing import Any

import click

from snellen._version import __version__
from snellen.cli.options import option
from snellen.cli.report import printable
from snellen.errors import SnellenError

COMMANDS = {
    "upscale": "Enlarge videos and images by A+ super-resolution.",
    "deblur": "Make blurred videos and images sharp by MIA.",
    "score": "Compare videos and images with their originals by MAD.",
    "train": "Learn an A+ model from a folder of images.",
    "bench": "Measure this machine: speed, memory, and that the result is right.",
    "doctor": "Say what works here: CPU, BLAS, GPU, encoders, models.",
}


class _Lazy(click.Group):
    """Commands by name; the file behind one is imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"snellen.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="snellen")
def cli() -> None:
    """Make pictures sharper, and say how sharp they are."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; errors are one line on stderr."""
    for name in ("SIGTERM", "SIGHUP"):  # SIGHUP: the terminal is gone; nohup ignores it
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)
    try:
        cli.main(arguments, prog_name="snellen", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except SnellenError as error:
        _fail(error.worded(option), error.exit_code)
    except OSError as error:
        _fail(f"{error.filename or 'the system'}: {error.strerror or error}", 1)
    except MemoryError:
        _fail("not enough memory; a smaller picture or more memory is needed", 1)
    except (KeyboardInterrupt, click.Abort):
        _fail("interrupted; nothing is left under the output's name", 130)


def _stop(signum: int, frame: FrameType | None) -> Any:
    """Treat a request to end like Ctrl-C: clean up, then leave."""
    raise KeyboardInterrupt


def _fail(message: str, code: int) -> None:
    click.echo(f"error: {printable(message)}", err=True)
    sys.exit(code)
