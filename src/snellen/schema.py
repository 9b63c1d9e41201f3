"""Options of jobs: a dataclass field says all about one, and whatever offers it asks the field.

From the fields come the options of commands, the parameters of functions and what `help` says of
them, the settings of snellen.toml, and what may differ between a run and its resumption.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dataclasses import Field

FILES = "Inputs and outputs"
METHOD = "Method"
COMPARED = "What is compared"
BLUR = "The blur"
REGION = "A region"
ENHANCEMENT = "Enhancement of videos"
VIDEO = "Reading video"
ENCODING = "Writing video"
IMAGES = "Images"
MACHINE = "Machine"
MACHINES = "Several machines"
REPORT = "Reports"
DEFAULTS = "Defaults and recipes"
OTHER = "Other"

_KEY = "snellen"
"""Key of a field's metadata."""


class Option(NamedTuple):
    """All about an option that its field's name, type and default do not say."""

    help: str
    """Sentences about it, with the names of parameters in backticks."""
    unset: str = ""
    """The meaning of the default None, such as "all", without a full stop."""
    more: str = ""
    """Sentences about what functions take, and commands do not."""
    no: str = ""
    """Where an option is True by default: help of the command's option that turns it off."""
    group: str = ""
    """Title in the help of commands; of a dataclass that of the fields in it that have none; "": as
    the field has it that holds the dataclass, else METHOD."""
    name: str = ""
    """Name of the parameter, if it is not the field's."""
    flag: str = ""
    """Name of the command's option, if it is not the parameter's: "--roi"."""
    short: str = ""
    """Short option: "-y"."""
    metavar: str = ""
    """Word for the value in the help of commands."""
    choices: tuple[str, ...] = ()
    """Texts that are taken."""
    advice: str = ""
    """Advice where another text is given, for the command's refusal."""
    least: int | None = None
    """Smallest number that is taken."""
    most: int | None = None
    """Greatest number."""
    accepts: str = ""
    """Annotation of the parameter, where functions take more types than the field holds."""
    media: str = ""
    """Media that it has an effect on: "video"; "": all. As `group`, of a dataclass."""
    effect: str = "pixels"
    """"pixels": segments of a film are made anew when it changes. "contents": when the file that
    it names has other contents. "result": only what becomes of them. "machine": only where, and how
    fast, all is computed."""
    without: tuple[str, ...] = ()
    """Names of a dataclass's options that the job does not have."""
    single: bool = True
    """True: it concerns one film, and excerpts of the film may vary it."""
    reads: bool = False
    """True: the value names a file that is read, also where the type is another one."""
    writes: bool = False
    """True: the value names a file that is written."""
    command: bool = True
    """True: a command has it."""
    step: Any = None
    """The maker of a step of a film's enhancement, see `snellen.jobs.kinds.enhance`."""


def option(default: Any, help: str = "", **about: Any) -> Any:
    """Return a dataclass field that is an option; `default` may be a class or a function.

    A class that is a dataclass has options of its own, which belong to the job's.
    """
    from dataclasses import field

    made: dict[str, Any] = {"default_factory" if callable(default) else "default": default}
    hashed = False if default is dict else None
    return field(**made, hash=hashed, metadata={_KEY: Option(help, **about)})


class Parameter(NamedTuple):
    """An option as functions and commands have it, wherever its field is."""

    name: str
    about: Option
    type: str
    """Annotation of the parameter."""
    held: str
    """Annotation of the field."""
    default: Any
    path: tuple[str, ...]
    """Names of the fields that lead to it from the job's."""

    @property
    def text(self) -> str:
        """Sentences about it for functions."""
        about = self.about
        limits = "" if about.most is None else f"From {about.least} to {about.most}."
        unset = f"None: {about.unset}." if about.unset else ""
        return " ".join(one for one in (about.help, about.more, limits, unset) if one)

    def of(self, value: Any) -> Any:
        """Return the value in a job."""
        for name in self.path:
            value = getattr(value, name)
        return value


def parameters(kind: Any) -> dict[str, Parameter]:
    """Return the options of a job's type, those of dataclasses in its fields too, by name."""
    return _parameters(kind)


@cache
def _parameters(kind: Any) -> dict[str, Parameter]:
    return {one.name: one for one in _flattened(kind, (), Option("", group=METHOD))}


def _flattened(kind: type, path: tuple[str, ...], outer: Option) -> Iterator[Parameter]:
    from dataclasses import MISSING, is_dataclass

    for one in ordered(kind):
        about = one.metadata.get(_KEY)
        if about is None:
            continue
        usual = {"group": about.group or outer.group, "media": about.media or outer.media}
        about, here = about._replace(**usual), (*path, one.name)
        inner: Any = one.default_factory
        if isinstance(inner, type) and is_dataclass(inner):
            found = _flattened(inner, here, about)
            yield from (each for each in found if each.name not in about.without)
            continue
        name, default = about.name or one.name, one.default if inner is MISSING else None
        default = None if default == () else default
        held = str(one.type)
        yield Parameter(name, about, about.accepts or held, held, default, here)


def ordered(kind: Any) -> list[Field[Any]]:
    """Return the fields of a dataclass, each before those of the classes that its own derives from.

    As functions, help and `repr` show them.
    """
    from dataclasses import fields

    def place(name: str) -> int:
        own = (name in vars(one).get("__annotations__", ()) for one in kind.__mro__)
        return [*own].index(True)

    return sorted(fields(kind), key=lambda one: place(one.name))


def nested(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by name as the fields of a job: those of dataclasses in it made into these."""
    from dataclasses import fields, is_dataclass

    found = {}
    for one in fields(kind):
        inner: Any = one.default_factory
        about = one.metadata.get(_KEY)
        if about is None:
            continue
        if isinstance(inner, type) and is_dataclass(inner):
            found[one.name] = inner(**nested(inner, given))
        elif (name := about.name or one.name) in given:
            found[one.name] = given[name]
    return found


def named(job: Any, media: str | None = None) -> tuple[str, ...]:
    """Return the parameters that differ from their defaults; of one of the `media` alone."""
    known = parameters(type(job)).values()
    return tuple(
        one.name
        for one in known
        if media in (None, one.about.media) and one.of(job) not in (one.default, {}, ())
    )


def with_effect(kind: type, *effects: str) -> frozenset[str]:
    """Return the names of the options that have one of these effects."""
    known = parameters(kind).values()
    return frozenset(one.name for one in known if one.about.effect in effects)
