"""Defaults of commands and named recipes, by snellen.toml, which the command line overrides."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from snellen.cli import terminal
from snellen.cli.config_file import NAME, VARIABLE, Config, Table, config_of, place
from snellen.errors import InputError, SnellenError

RECIPES = "recipe"
"""The table of recipes."""
_LINE_ONLY = (
    "--config", "--recipe", "--no-config", "--help", "--debug", "--plan", "--segments", "--join",
)  # fmt: skip
"""Options that no file may set."""
_FROM_FILE = click.core.ParameterSource.DEFAULT_MAP
_ORIGINS = "snellen.cli.recipes"
"""Key of `Context.meta`: parameter → what set it."""
_FILE = re.compile(r"[/\\]|\.[A-Za-z]\w*$")
"""A mark of the names of files, which shipped models and numbers have not."""
_NUMBERS: dict[str, Any] = {
    "integer": int,
    "integer range": int,
    "float": (int, float),
    "float range": (int, float),
}
"""Python types of TOML's values, by click's name of an option's type."""


def options() -> list[click.Option]:
    """Return --recipe, --config and --no-config, which every command with settings has."""
    return [
        click.Option(
            ["--recipe"],
            metavar="NAME",
            expose_value=False,
            shell_complete=_completions,
            help=f"Settings of this name in {NAME}; options that are given here win.",
        ),
        click.Option(
            ["--config"],
            metavar="FILE",
            type=click.Path(),
            expose_value=False,
            help=f"Defaults and recipes of this file, not of {NAME} in the user's configuration "
            "folder (snellen doctor says where that is).",
        ),
        click.Option(["--no-config"], is_flag=True, expose_value=False, help="Read no such file."),
    ]


def apply(ctx: click.Context, given: Mapping[str, Any]) -> None:
    """Set the defaults of a command that is about to be parsed; `given` is what its line says.

    InputError: the file cannot be read, or holds what the command does not take; there is no such
    recipe.
    """
    if ctx.resilient_parsing or not _takes_recipes(ctx.command):
        return
    name, file = given.get("recipe"), given.get("config")
    if given.get("no_config") and (name is not None or file is not None):
        raise InputError(f"got --no-config with --{'config' if name is None else 'recipe'}")
    config = None if given.get("no_config") else config_of(file)
    if config is None:
        if name is not None:
            raise InputError(f"got --recipe {name}, but there is no {place() or NAME}")
        return
    _check(ctx.find_root(), config)
    words = ctx.command_path.split()[1:]
    settings, origins = {}, {}
    for table, where in _tables(config, name, words):
        for parameter, value in _settings(ctx, config, table, where):
            settings[parameter] = value
            of = "defaults" if where[0] != RECIPES else f"recipe {name}"
            origins[parameter] = f"{of} in {config.path}"
    ctx.default_map = settings
    ctx.meta[_ORIGINS] = origins


def warn_of_slips(ctx: click.Context, given: Mapping[str, Any]) -> None:
    """Say on standard error what `apply` would refuse: help comes all the same."""
    try:
        apply(ctx, given)
    except SnellenError as error:
        terminal.err(f"warning: {error}")
    ctx.default_map = None  # help tells the defaults of the program


def origin(parameter: str) -> str:
    """Return which file, and what in it, set a parameter of the command that runs; "": none."""
    ctx = click.get_current_context(silent=True)
    if ctx is None or ctx.get_parameter_source(parameter) is not _FROM_FILE:
        return ""
    return str(ctx.meta.get(_ORIGINS, {}).get(parameter, ""))


def chosen(ctx: click.Context) -> dict[str, list[str]]:
    """Return the options that a file has set, as words of a command line, by what set them."""
    found: dict[str, list[str]] = {}
    for option in ctx.command.params:
        if option.name is not None and (where := origin(option.name)):
            value = (ctx.default_map or {})[option.name]
            if value is False:
                continue
            name, words = option.opts[-1], found.setdefault(where, [])
            for one in value if isinstance(value, list) else [value]:
                words += [name] if one is True else [name, one]
    return found


def state(ctx: click.Context) -> dict[str, str]:
    """Return the user's file with what it holds, or what is wrong in it, for `snellen doctor`."""
    path: Path | str | None = VARIABLE
    try:
        path = place()
        config = config_of(None)
        if config is None:
            return {} if path is None else {str(path): "not there"}
        _check(ctx.find_root(), config)
    except SnellenError as error:
        return {str(path): f"not used: {error}"}
    recipes = config.table.get(RECIPES, {})
    parts = [name for name in config.table if name != RECIPES]
    said = [f"defaults of {', '.join(parts)}"] if parts else []
    said += [f"recipe {name} ({', '.join(table)})" for name, table in recipes.items()]
    return {str(path): "; ".join(said) or "empty"}


def _takes_recipes(command: click.Command) -> bool:
    return any("--recipe" in option.opts for option in command.params)


def _check(root: click.Context, config: Config) -> None:
    """Check all tables, those of other commands, too: a slip is said at once."""
    recipes = config.table.get(RECIPES, {})
    _expect_table(config, (RECIPES,), recipes)
    for name, recipe in recipes.items():
        _expect_table(config, (RECIPES, name), recipe)
        _check_commands(root, config, recipe, (RECIPES, name))
    rest = {name: table for name, table in config.table.items() if name != RECIPES}
    _check_commands(root, config, rest, ())


def _check_commands(
    ctx: click.Context, config: Config, table: Table, where: tuple[str, ...]
) -> None:
    group = ctx.command
    assert isinstance(group, click.Group)
    for name, inner in table.items():
        here = (*where, name)
        command = group.get_command(ctx, name)
        if command is None:
            known = [*group.list_commands(ctx), *([] if where else [RECIPES])]
            raise _fault(config, here, f"there is no such command{_meant(name, known)}")
        _expect_table(config, here, inner)
        below = click.Context(command, parent=ctx, info_name=name)
        if isinstance(command, click.Group):
            _check_commands(below, config, inner, here)
        elif not _takes_recipes(command):
            raise _fault(config, here, "this command has no settings")
        else:
            for _ in _settings(below, config, inner, here):
                pass


def _tables(
    config: Config, name: str | None, words: Sequence[str]
) -> Iterator[tuple[Table, tuple[str, ...]]]:
    """Yield the tables about a command, the stronger one last, and where each is."""
    yield _inner(config.table, words), tuple(words)
    if name is None:
        return
    recipes = config.table.get(RECIPES, {})
    if name not in recipes:
        known = f"; there are {', '.join(recipes)}" if recipes else ""
        raise InputError(f"got --recipe {name}, which is not in {config.path}{known}")
    table = _inner(recipes[name], words)
    if not table:
        parts = ", ".join(recipes[name]) or "nothing"
        raise _fault(
            config, (RECIPES, name), f"has no settings of {' '.join(words)}; it is for {parts}"
        )
    yield table, (RECIPES, name, *words)


def _inner(table: Table, words: Sequence[str]) -> Table:
    for word in words:
        table = table.get(word, {})
    return table


def _settings(
    ctx: click.Context, config: Config, table: Table, where: tuple[str, ...]
) -> Iterator[tuple[str, Any]]:
    """Yield parameters and values of a table, each value as the command line would have it."""
    known = {
        long.removeprefix("--"): option
        for option in ctx.command.params
        if isinstance(option, click.Option)
        for long in option.opts
        if long.startswith("--")
    }
    for key, value in table.items():
        here = (*where, key)
        if f"--{key}" in _LINE_ONLY:
            raise _fault(config, here, "is for the command line only")
        option = known.get(key)
        if option is None or option.name is None:
            names = [one for one in known if f"--{one}" not in _LINE_ONLY]
            raise _fault(config, here, f"there is no such option{_meant(key, names)}")
        try:
            typed = _typed(option, value)
            option.type_cast_value(ctx, typed)
        except click.BadParameter as error:
            raise _fault(config, here, error.message.rstrip(".")) from error
        except _WrongTypeError as error:
            raise _fault(config, here, f"got {value!r}; expected {error}") from error
        yield option.name, typed


class _WrongTypeError(Exception):
    """Says what was expected."""


def _typed(option: click.Option, value: Any) -> Any:
    """Return a value of TOML as the command line has it: a text, a list of them, or a flag."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise _WrongTypeError("true or false")
        return value
    if option.multiple:
        if not isinstance(value, list):
            raise _WrongTypeError("a list of texts")
        return [_text(option, one) for one in value]
    if value is True and isinstance(option.flag_value, str):
        return option.flag_value  # of an option whose value may be left out
    return _text(option, value)


def _text(option: click.Option, value: Any) -> str:
    """Return a value that is no flag as the command line has it."""
    kind = _NUMBERS.get(option.type.name)
    if kind is not None:
        if isinstance(value, bool) or not isinstance(value, kind):
            raise _WrongTypeError("a whole number" if kind is int else "a number")
        return str(value)
    if not isinstance(value, str):
        raise _WrongTypeError("a text in quotes")
    is_path = isinstance(option.type, click.Path)
    if is_path or ("FILE" in (option.metavar or "") and _FILE.search(value)):
        path = os.path.expanduser(value)  # noqa: PTH111  keeps the slash at the end
        if not os.path.isabs(path) and path != "-":  # noqa: PTH117
            raise _WrongTypeError("a path that begins with / or ~/, as any folder may be current")
        return path
    return str(value)


def _expect_table(config: Config, where: tuple[str, ...], value: Any) -> None:
    if not isinstance(value, dict):
        raise _fault(config, where, f"got {value!r}; expected a table [{'.'.join(where)}]")


def _fault(config: Config, where: Sequence[str], text: str) -> InputError:
    return InputError(f"{config.path}: {'.'.join(where)}: {text}")


def _meant(word: str, known: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word.replace("_", "-"), known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _completions(
    ctx: click.Context, option: click.Parameter, incomplete: str
) -> list[click.shell_completion.CompletionItem]:
    """Return the names of the user's recipes that a shell may complete a word to."""
    try:
        config = config_of(None)
    except SnellenError:
        return []
    recipes = config.table.get(RECIPES, {}) if config is not None else {}
    names = [name for name in recipes if name.startswith(incomplete)]
    return [click.shell_completion.CompletionItem(name) for name in names]
