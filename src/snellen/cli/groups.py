"""Options in groups with titles, the types of their values, and the help of commands."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import click

from snellen.cli import recipes
from snellen.errors import InputError
from snellen.schema import DEFAULTS as DEFAULTS
from snellen.schema import ENCODING, ENHANCEMENT, IMAGES, OTHER
from snellen.schema import FILES as FILES
from snellen.schema import MACHINE as MACHINE
from snellen.schema import MACHINES as MACHINES
from snellen.schema import METHOD as METHOD
from snellen.schema import REPORT as REPORT
from snellen.schema import VIDEO as VIDEO

_ORDER = (
    FILES, METHOD, ENHANCEMENT, VIDEO, ENCODING, IMAGES, MACHINE, MACHINES, REPORT, DEFAULTS, OTHER
)  # fmt: skip
"""Groups, as they follow each other; those of a command alone come after METHOD."""

_KINDS = {
    "integer": "N", "integer range": "N", "float": "NUMBER", "float range": "NUMBER",
    "path": "PATH",
}  # fmt: skip
"""The name of a value in help, by click's name of its type."""

_HYPHEN = "\x01"
"""Stands for a hyphen while lines are filled: else they would end within names of options."""

_titles: WeakKeyDictionary[click.Parameter, str] = WeakKeyDictionary()

Examples = Sequence[tuple[str, str]]
"""The effect of each, and the command line."""
Decorator = Callable[[Any], Any]


def group(title: str, *options: Decorator) -> Decorator:
    """Return a decorator that gives a command options, which its help shows under a title.

    Groups of one title become one, so that several modules can add to it. The options are
    decorators, of `click.option`, in the order in which help shows them.
    """

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
            add(command.__click_params__[-1], title)
        return command

    return decorate


def add(option: click.Parameter, title: str) -> None:
    """Show an option under a title."""
    _titles[option] = title
    if isinstance(option, click.Option) and option.metavar is None and not option.is_flag:
        option.metavar = _KINDS.get(option.type.name)


class Command(click.Command):
    """A command whose help has groups, and examples: what each does, and the command line."""

    def __init__(self, *words: Any, examples: Examples = (), **more: Any) -> None:
        self.examples = tuple(examples)
        lines = [f"{line}\n  # {text}" for text, line in examples]
        if lines:  # for the documentation, which does not ask `format_epilog`
            more["epilog"] = "\b\nExamples:\n" + "\n".join(lines)
        # click keeps a command's help option from its first call, which may be by itself.
        more.setdefault("context_settings", {"help_option_names": ["-h", "--help"]})
        super().__init__(*words, **more)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; the defaults are those of the user's file, and of the recipe.

        An option whose value may be left out takes one of its own only; click would take any word
        behind it, such as the name of a file. An option that names an output is taken once; click
        would make the last one and drop the others.
        """
        words = _completed(args, self.params)
        given, _, order = self.make_parser(ctx).parse_args(list(words))
        help_option = self.get_help_option(ctx)
        if help_option is not None and given.get(help_option.name or ""):
            recipes.warn_of_slips(ctx, given)
        else:
            if not ctx.resilient_parsing:  # of a shell that completes words
                _check_outputs(order)
            recipes.apply(ctx, given)
        return super().parse_args(ctx, words)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        found: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                name, text = record
                found.setdefault(_titles.get(parameter, OTHER), []).append((name, _plain(text)))
        for title in sorted(found, key=_place):
            rows = [(name, text.replace("-", _HYPHEN)) for name, text in found[title]]
            with formatter.section(title):
                formatter.write_dl(rows, col_max=26)
        formatter.buffer[:] = [one.replace(_HYPHEN, "-") for one in formatter.buffer]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        write_examples(formatter, self.examples)


def optional_choice(name: str, choices: Sequence[str], help: str) -> Decorator:
    """Return an option with one of several values; without one it means the first."""
    return click.option(
        name,
        type=click.Choice(choices),
        is_flag=False,
        flag_value=choices[0],
        metavar=f"[{'|'.join(choices)}]",
        help=help,
    )


def _plain(text: str) -> str:
    """Return an option's help with its default and range in one style: "[default: 2; 1 to 9]."."""
    # click puts them behind the sentence, such as "  [default: 2; 1<=x<=9]".
    sentence, gap, extra = text.rpartition("  [") if text.endswith("]") else (text, "", "")
    if not gap:
        return text
    parts = []
    for part in extra.removesuffix("]").split("; "):
        limits = re.fullmatch(r"(\S+)<=x<=(\S+)", part)
        if limits is not None:
            parts.append(f"{limits[1]} to {limits[2]}")
        elif not part.startswith("x>="):  # which nobody would doubt
            parts.append(part)
    if not parts:
        return sentence
    if sentence.endswith("]."):
        return f"{sentence[:-2]}; {'; '.join(parts)}]."
    return f"{sentence.removesuffix('.')} [{'; '.join(parts)}]."


def _check_outputs(given: Sequence[click.Parameter]) -> None:
    """Refuse (InputError) options, as often as they are given, of which one names two outputs."""
    for one in given:
        if isinstance(one.type, Written) and not one.multiple and given.count(one) > 1:
            raise InputError(
                f"got {one.opts[0]} {given.count(one)} times; expected it once, as it names one "
                "output",
                advice="run the command once for each output",
            )


def _completed(words: Sequence[str], parameters: Sequence[click.Parameter]) -> list[str]:
    """Return a command line in which no value is left out."""
    values = {
        name: option
        for option in parameters
        if isinstance(option, click.Option)
        and not option.is_flag
        and isinstance(option.flag_value, str)
        for name in option.opts
    }
    done = list(words)
    end = done.index("--") if "--" in done else len(done)
    for number, word in enumerate(done[:end]):
        option = values.get(word)
        if option is not None and isinstance(option.type, click.Choice):
            following = done[number + 1] if number + 1 < end else ""
            if following not in option.type.choices:
                done[number] = f"{word}={option.flag_value}"
    return done


def write_examples(formatter: click.HelpFormatter, examples: Examples) -> None:
    """Write a section of examples, if there are any."""
    if examples:
        with formatter.section("Examples"):
            for text, line in examples:
                formatter.write(f"  {line}\n      {text}\n")


def _place(title: str) -> float:
    return _ORDER.index(title) if title in _ORDER else _ORDER.index(METHOD) + 0.5


PIPE = Path("-")
"""Standard input, or standard output."""
LONGEST = 4096
"""Bytes of the name of a file, with its folders, as `frames.values` has it."""


class _Named(click.Path):
    """A path that a file can have: not empty, which would mean the current folder, and no NUL.

    Nor is it the file that standard output goes to: even an error of ``--json`` would spoil it.
    """

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "":
            self.fail("got an empty name; name a file, a folder or -", param, ctx)
        try:
            name = os.fsencode(value)
            unusable = b"\0" in name or len(name) >= LONGEST
        except ValueError:
            unusable = True
        if unusable:
            self.fail(f"got {value!r}; expected the name of a file, a folder or -", param, ctx)
        with suppress(OSError, ValueError, AttributeError):
            found, out = Path(value).stat(), os.fstat(sys.stdout.fileno())
            if stat.S_ISREG(out.st_mode) and os.path.samestat(found, out):
                self.fail(f"{value} is the file that standard output goes to", param, ctx)
        if isinstance(value, str) and "://" in value:
            from snellen.files.remote import typed

            try:
                return typed(value)
            except InputError as error:
                self.fail(str(error), param, ctx)
        return super().convert(value, param, ctx)


NAMED = _Named(path_type=Path)


class Written(_Named):
    """The file or folder that an option has written; `Command` takes such an option once."""


WRITTEN = Written(path_type=Path)


class _Number(click.types.FloatParamType):
    """A number; whole ones stay whole, so that messages say them as they were typed.

    Very large ones have an exponent.
    """

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        found = super().convert(value, param, ctx)
        return int(found) if found.is_integer() and abs(found) < 1e15 else found


NUMBER = _Number()


class Whole(click.IntRange):
    """A whole number in a range; its errors have the words of `frames.values.whole`."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the number (BadParameter: it is none, or out of the range)."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            end = " or more" if self.max is None else f" to {self.max}"
            got = value if str(value).lstrip("-").isdecimal() else repr(value)
            self.fail(f"got {got}; expected a whole number, {self.min}{end}", param, ctx)


class Output(NamedTuple):
    """The output that -o names."""

    path: Path
    is_folder: bool
    """True: it ends as the name of a folder does: "large/"."""


class _Output(Written):
    """The file or folder that -o names."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, Output):
            return value
        ends = (os.sep, os.altsep or os.sep)
        return Output(super().convert(value, param, ctx), str(value).endswith(ends))


OUTPUT = _Output(path_type=Path)
