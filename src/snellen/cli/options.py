"""Options of commands, made from the fields of jobs, and parameters' names as options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import click

from snellen.cli.groups import (
    FILES,
    NAMED,
    NUMBER,
    OUTPUT,
    REPORT,
    WRITTEN,
    Decorator,
    Whole,
    group,
    optional_choice,
)
from snellen.errors import InputError, worded
from snellen.jobs.options.options import RunOptions
from snellen.schema import Parameter, parameters

_FILE_NAMES = {
    "source": "INPUT", "reference": "REF", "distorted": "DIST", "target": "-o", "variants": "FILES",
}  # fmt: skip
"""Fields that are files of a command line, as its usage calls them."""


def option(parameter: str) -> str:
    """Return the option of a parameter, "--psf-size" for "psf_size"; itself where there is none."""
    found = _of_fields().get(parameter) or _FILE_NAMES.get(parameter)
    return found or _of_commands().get(parameter, parameter)


@cache
def _of_fields() -> dict[str, str]:
    """Return what the fields of jobs say of their options, by parameter."""
    from snellen.jobs.kinds.compare import CompareJob
    from snellen.jobs.kinds.deblur import DeblurJob
    from snellen.jobs.kinds.score import ScoreJob
    from snellen.jobs.kinds.upscale import UpscaleJob

    fields = parameters(CompareJob) | parameters(ScoreJob)
    fields |= parameters(UpscaleJob) | parameters(DeblurJob)
    return {name: _called(one) for name, one in fields.items()}


@cache
def _of_commands() -> dict[str, str]:
    """Return the options of all commands, those that are no field of a job too, by parameter."""
    from snellen.cli.commands import COMMANDS, cli

    commands = [cli.get_command(click.Context(cli), name) for name in COMMANDS]
    inner = [one for group in commands for one in getattr(group, "commands", {}).values()]
    every = [one for command in (*inner, *commands) if command for one in command.params]
    return {str(one.name): one.opts[-1] for one in every if isinstance(one, click.Option)}


def _called(one: Parameter) -> str:
    return _name(one) if one.about.command else one.name


def _flag(parameter: str) -> str:
    return "--" + parameter.replace("_", "-")


def _name(one: Parameter) -> str:
    return "--" + "no-" * (one.default is True) + (one.about.flag or _flag(one.name))[2:]


def in_options(warnings: Iterable[str]) -> list[str]:
    """Return warnings as the command words them: with options for parameters."""
    return [worded(one, option) for one in warnings]


def of(kind: type, *names: str) -> list[Decorator]:
    """Return the options of commands that are these fields of a job's type; none named: all are."""
    known = parameters(kind)
    found = [known[name] for name in names] or known.values()
    return [_made(one, known) for one in found if one.about.command]


def if_given(kind: type, *names: str) -> list[Decorator]:
    """Return likewise options that are None where they are not given.

    Of a method that the job may not be for: the settings themselves check their ranges.
    """
    known = parameters(kind)
    return [_made(known[name], known, if_given=True) for name in names]


def all_of(kind: type) -> Decorator:
    """Return a decorator that gives a command all options of a job's type, in their groups."""

    def decorate(command: Any) -> Any:
        for name, one in reversed(parameters(kind).items()):
            if one.about.command:
                command = group(one.about.group, *of(kind, name))(command)
        return command

    return decorate


def values(kind: type, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a job's type, of a command's, by parameter."""
    found = {}
    for name, one in parameters(kind).items():
        if not one.about.command:
            continue
        value = options[key(one)]
        if one.default is True:
            value = not value
        elif one.held.startswith("Mapping"):
            value = key_values(one.about.short, value, "tune=film")
        found[name] = one.default if value is None else value
    return found


def key(one: Parameter) -> str:
    """Return what the option of a field is called among a command's."""
    return "no_" * (one.default is True) + one.name


class _Choice(click.Choice):  # type: ignore[type-arg]  # click 8.1 has no parameters
    """One of several words; the refusal of another one says what else to do."""

    def __init__(self, one: Parameter) -> None:
        super().__init__(one.about.choices)
        self._advice = one.about.advice

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            advice = f"; {worded(self._advice, option)}" if self._advice else ""
            self.fail(error.message.rstrip("." * bool(advice)) + advice, param, ctx)


def _made(one: Parameter, known: Mapping[str, Parameter], if_given: bool = False) -> Decorator:
    """Return the option of a field, among those of a job's type."""
    about, name, text = one.about, _name(one), _help(one, known)
    if one.held.startswith("bool") and about.choices:
        return optional_choice(name, about.choices, text)
    names = [*([about.short] if about.short else []), name]
    if isinstance(one.default, bool):
        return click.option(*names, key(one), is_flag=True, help=text)
    return click.option(
        *names, one.name, type=_type(one, not if_given), metavar=about.metavar or None,
        default=None if if_given else _usual(one),
        multiple=_is_multiple(one), help=text,
    )  # fmt: skip


def _usual(one: Parameter) -> Any:
    """Return the default of an option: several words with commas between."""
    return ",".join(one.default) if isinstance(one.default, tuple) else one.default


def _is_multiple(one: Parameter) -> bool:
    """Return whether an option may be repeated; one with several words by default has commas."""
    return one.held.startswith(("tuple", "Mapping")) and one.default is None


def _type(one: Parameter, ranged: bool) -> Any:
    about, kinds = one.about, one.held.split(" | ")
    if about.choices:
        return _Choice(one)
    if about.writes or about.reads:
        return WRITTEN if about.writes else NAMED
    if kinds[0] == "int" and "str" not in kinds:
        return int if about.least is None or not ranged else Whole(about.least, about.most)
    if kinds[0] == "float" and len(kinds) <= 2 and kinds[-1] in ("float", "None"):
        return NUMBER if about.least is None else click.FloatRange(about.least)
    return str


def _help(one: Parameter, known: Mapping[str, Parameter]) -> str:
    """Return the sentences about an option, with its default at the end."""

    def word(name: str) -> str:  # most by the same job: to import the others takes time
        return _called(known[name]) if name in known else option(name)

    about = one.about
    text = worded(about.no if one.default is True else about.help, word).removesuffix(".")
    usual = worded(about.unset, word)
    if one.default is not None and not isinstance(one.default, bool):
        usual = f"{one.default:g}" if isinstance(one.default, float) else str(_usual(one))
    repeated = "; may be repeated" * _is_multiple(one)
    return text + repeated + (f" [default: {usual}]." if usual else ".")


DEVICE, MAX_PIXELS, OVERWRITE = of(RunOptions, "device", "max_pixels", "overwrite")
JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
VERBOSE = click.option(
    "-v", "--verbose", is_flag=True, help="Say what each input becomes, and by which settings."
)
QUIET = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Say warnings, errors and answers (scores, a dry run) only, without a bar.",
)
LOG = click.option(
    "--log", type=WRITTEN, metavar="FILE", help="Append all that is said to this file, with times."
)
REPORTING = (VERBOSE, QUIET, LOG, JSON)

_FILES = group(
    FILES,
    click.option(
        "-r",
        "--recursive",
        is_flag=True,
        help="Search the folders in a folder, too; not links to folders, nor what is hidden.",
    ),
    click.option(
        "--skip-existing",
        is_flag=True,
        help="Leave inputs out whose outputs are there, those of damaged ones too.",
    ),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Do all but the work, and say what it would be: streams, encoder, segments, and "
        "time and size by some frames; nothing is written.",
    ),
)


def file_command(kind: type, example: str) -> Decorator:
    """Return a decorator that gives a command from files to files the options of its job.

    `example` says what an input's result is called without -o.
    """
    said = group(REPORT, *REPORTING)
    target = group(FILES, output_option(example))
    return lambda command: target(_FILES(all_of(kind)(said(command))))


def output_option(example: str) -> Callable[[Any], Any]:
    """Return -o, with what an input's result is called without it."""
    return click.option(
        "-o",
        "--output",
        metavar="FILE|FOLDER",
        type=OUTPUT,
        help="File; or a folder, for several inputs or a folder, made where it is missing; either "
        "may be at s3:// or gs://; - for y4m; film-%05d.png makes a picture of each frame "
        f"[default: beside the input, as {example}].",
    )


def key_values(name: str, texts: tuple[str, ...], example: str) -> dict[str, str]:
    """Return what options KEY=VALUE say (InputError: one has no key, or no =)."""
    for text in texts:
        if not text.partition("=")[1]:
            raise InputError(f"{name} {text}: expected KEY=VALUE, such as {name} {example}")
    return dict(text.split("=", 1) for text in texts)
