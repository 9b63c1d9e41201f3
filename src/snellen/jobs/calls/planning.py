"""Plans a run over several files: which input becomes which output, and what is left out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from snellen.errors import InputError, SnellenError
from snellen.files.existing import ELSEWHERE, BusyError, ExistsError
from snellen.files.kinds import names_picture
from snellen.files.protection import place
from snellen.files.remote import Remote
from snellen.frames import values
from snellen.jobs.inputs.inputs import PIPE
from snellen.jobs.inputs.naming import Word, beside, is_joined, written
from snellen.jobs.inputs.patterns import the_only
from snellen.jobs.inputs.search import Found, search
from snellen.jobs.inputs.sequence import film, is_one_film, is_sequence_of, is_there
from snellen.jobs.options.options import File, optional_path, path

Spot = Callable[..., tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Skipped:
    """An input that is left out."""

    source: Path
    """The input."""
    target: Path
    """The output that it would become."""
    why: str
    """A sentence's end: "skipped, photo-x2.png is there"."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The work of a run over several files."""

    pairs: tuple[tuple[Path, Path], ...]
    """Each input with its output, in the order of the work."""
    skipped: tuple[Skipped, ...] = ()
    """Inputs whose outputs are there, or that are results of other inputs."""
    failed: tuple[tuple[Path, InputError], ...] = ()
    """Folders that cannot be read, and inputs that would become one file."""
    several: bool = False
    """True: more than one file was asked for, or a folder."""
    skip_existing: bool = False
    """True: inputs are left out whose outputs are there, or that another run makes meanwhile."""
    existing: tuple[tuple[Path, Path], ...] = ()
    """Inputs that fail as their outputs are there, and these; see `without_existing`."""

    def clash(self) -> ExistsError | None:
        """Return the one error about all outputs that are there; None: there are none."""
        if not self.existing:
            return None
        first, count = self.existing[0][1], len(self.existing)
        every = count + len(self.pairs) + len(self.skipped)
        said, which = f"{first} exists", "it"
        if count > 1:
            said, which = f"{count} of {every} outputs exist, as {first}", "them"
        return ExistsError(
            said,
            parameter="overwrite",
            advice=f"leave {which} out by `skip_existing`=True, or replace {which} by "
            "`overwrite`=True",
        )


def plan(
    inputs: Sequence[Path],
    output: Path | None,
    word: Word,
    *,
    into: bool = False,
    recursive: bool = False,
    skip_existing: bool = False,
    overwrite: bool = False,
    together: bool = False,
    sequences: bool = False,
) -> Plan:
    """Find the inputs, and name the output of each. Nothing is written.

    Inputs are videos, images, folders of both, patterns of these, addresses of files, or "-" for
    standard input. A file that is named twice counts once. An input that is the result of another
    one, of this run or by its name of one before, is left out. Inputs that would become one file
    fail.

    Parameters
    ----------
    output : Path or None
        A file for one input; "-" for standard output; a folder, which need not exist, for several
        or for a folder, whose own folders it gets too. None: beside each input, with a word more
        in its name, which `word` returns; of a folder, a folder beside it.
    into : bool
        Whether the output is a folder although it does not exist.
    recursive : bool
        Whether folders in a folder are searched too. Links to folders, and what is hidden, are not.
    skip_existing, overwrite : bool
        Whether inputs are left out whose outputs are there, or these are replaced; not both.
    together : bool
        Whether all inputs are one burst, with one output; the plan names the first of them.
    sequences : bool
        Whether a folder or a pattern of pictures, as an input, becomes one film.

    Raises
    ------
    InputError
        No such input; several inputs for one output.
    """
    skip_existing = values.flag("skip_existing", skip_existing)
    recursive = values.flag("recursive", recursive)
    if skip_existing and overwrite:
        raise InputError(
            "got `skip_existing` with `overwrite`", parameter="skip_existing",
            advice="leave one of them out",
        )  # fmt: skip
    if sequences and not all(map(is_one_film, inputs)):
        if recursive or together:
            raise InputError(
                f"got `fps` with `{'recursive' if recursive else 'burst'}`", parameter="fps"
            )
        return _one(film(inputs, output, word, into), skip_existing)
    found, failed = search(inputs, recursive, output)
    if together:
        if recursive:
            raise InputError("got `recursive` with `burst`", parameter="recursive")
        first = found[0].path
        goal = beside(first, word(first)) if output is None else output
        return _one((first, goal), skip_existing)
    once: dict[tuple[str, str], Found] = {}
    spot = _spots()
    for one in found:
        once.setdefault(spot(one.path), one)
    found = list(once.values())
    several = bool(failed) or len(found) != 1 or found[0].folder is not None
    targets = _targets(found, output, word, several, into)
    found = [replace(one, target=target) for one, target in zip(found, targets, strict=True)]
    skipped = _results(found, word, spot)
    left = [one for one in found if one not in skipped]
    clashes = _clashes(left)
    if skip_existing:
        skipped |= {one: f"{one.target} is there" for one in left if _is_done(one)}
    return Plan(
        tuple((one.path, one.target) for one in left if one not in clashes and one not in skipped),
        tuple(
            Skipped(one.path, one.target, skipped[one])
            for one in found if one in skipped and one not in clashes
        ),
        (*failed, *((one.path, error) for one, error in clashes.items())),
        several,
        skip_existing,
    )  # fmt: skip


def without_existing(found: Plan) -> Plan:
    """Return a plan for several files without those whose outputs are there; they are one failure.

    A film whose segments have been joined, and that was killed before all of them were removed, is
    not one of these: its job ends what was begun.
    """
    if not found.several or found.skip_existing:
        return found
    existing: list[tuple[Path, Path]] = []
    left: list[tuple[Path, Path]] = []
    for source, target in found.pairs:
        done = _is_done(Found(source, target=target))
        fails = done and (isinstance(target, Remote) or not is_joined(target))
        (existing if fails else left).append((source, target))
    return replace(found, pairs=tuple(left), existing=tuple(existing))


def passed_over(found: Plan, target: Path, error: SnellenError | None) -> str | None:
    """Return why an input is skipped whose output another run has made, or makes; None: it is not.

    The plan found no output, so that whoever it is from runs beside this one.
    """
    if not found.skip_existing or not isinstance(error, ELSEWHERE):
        return None
    if isinstance(error, BusyError):
        return "another run is making it"
    return f"{target} is there" if is_there(target) else None


def source_and_target(
    source: File, target: File | None, word: Word, fps: Fraction | None
) -> tuple[Path, Path]:
    """Return one source, and the file that it becomes; `fps`: pictures may become one film.

    Errors are those of `file_target`.
    """
    found = path(source, "source")
    if fps is None:
        found = the_only(found, "source")
    return found, file_target(found, target, word, is_sequence_of(found, fps))


def file_target(source: Path, target: File | None, word: Word, sequence: bool = False) -> Path:
    """Return the file that one source becomes: the target, or in it where that is a folder.

    A text that ends as the name of a folder does, "large/", is one that need not exist. A
    `sequence` is a folder or a pattern of pictures that become one film.

    Raises
    ------
    InputError
        The source is a folder, or the target is one for standard input, or no path.
    """
    goal = optional_path(target, "target")
    into = isinstance(target, str) and target.endswith(("/", os.sep))
    if sequence:
        return film((source,), goal, word, into)[1]
    if source.is_dir():
        raise InputError(
            f"{source} is a folder; expected one file",
            parameter="source",
            advice="upscale_files and deblur_files take folders",
        )
    if goal is None:
        return beside(source, word(source))
    return _into(goal, source) if into or goal.is_dir() else goal


def _one(pair: tuple[Path, Path], skip_existing: bool) -> Plan:
    if skip_existing and is_there(pair[1]):
        return Plan((), (Skipped(*pair, f"{pair[1]} is there"),), skip_existing=True)
    return Plan((pair,), skip_existing=skip_existing)


def _targets(
    found: list[Found], output: Path | None, word: Word, several: bool, into: bool
) -> list[Path]:
    if output is None:
        return [
            beside(one.path, word(one.path)) if one.folder is None
            else _mirrored(beside(one.folder, word(one.folder)), one) for one in found
        ]  # fmt: skip
    if output == PIPE:
        if several:
            raise InputError(
                "standard output takes one input; name a folder as `target`", parameter="target"
            )
        return [PIPE]
    if not (several or into or output.is_dir()):
        return [output]
    if output.exists() and not output.is_dir() and not isinstance(output, Remote):
        raise InputError(
            f"{output} is a file; several inputs need a folder as output", parameter="target"
        )
    if not (into or output.is_dir()) and names_picture(output):
        raise InputError(
            f"several inputs need a folder as output, and {output} names a file",
            parameter="target",
            advice=f"name a folder, or {output}{os.sep} if it is to be one",
        )
    return [_mirrored(output, one) for one in found]


def _mirrored(output: Path, one: Found) -> Path:
    """Return where in the output's folder the result of an input comes."""
    inside = output if one.folder is None else output / one.path.parent.relative_to(one.folder)
    return _into(inside, one.path)


def _into(folder: Path, source: Path) -> Path:
    if source == PIPE:
        raise InputError(
            "standard input needs a file name (or -) as its output, not a folder",
            parameter="target",
        )
    return folder / written(source)


def _spots() -> Spot:
    """Return a function that says where a file lies, and its name or another one."""
    # Links are files of their own.
    folders: dict[Path, str] = {}

    def spot(path: Path, name: str | None = None) -> tuple[str, str]:
        folder = path if isinstance(path, Remote) else path.parent
        if folder not in folders:
            folders[folder] = place(folder)
        return folders[folder], os.path.normcase(path.name if name is None else name)

    return spot


def _results(found: list[Found], word: Word, spot: Spot) -> dict[Found, str]:
    """Return the inputs that are results of others, and why they are left out."""
    # What becomes a file beside it is one of those, too, wherever this run's results come: its name
    # says that a run before has made it. Links are none: what they lead to is somebody's file.
    files = [one for one in found if one.path != PIPE]
    made: dict[tuple[str, str], Found] = {}
    named: dict[tuple[str, str], list[Found]] = {}
    for one in files:
        made.setdefault(spot(one.target), one)
        named.setdefault(spot(one.path, one.path.stem), []).append(one)
    results = {}
    for one in files:
        other = made.get(spot(one.path))
        if other is None:
            stem = one.path.stem.rpartition("-")[0]
            before = named.get(spot(one.path, stem), [])
            made_of = (x for x in before if beside(x.path, word(x.path)).name == one.path.name)
            other = next(made_of, None)
        # What would become itself is refused by its job.
        if other and not (one.path.is_symlink() or place(one.path) == place(one.target)):
            results[one] = f"it is the result of {other.path}"
    return results


def _clashes(found: list[Found]) -> dict[Found, InputError]:
    """Return an error for each input that would become the same file as another one."""
    same: dict[str, list[Found]] = {}
    for one in found:
        if one.target != PIPE:
            same.setdefault(place(one.target), []).append(one)
    errors = {}
    for several in same.values():
        for one in several if len(several) > 1 else ():
            others = " and ".join(
                f"{other.path}" if other.target == one.target
                else f"{other.path}, since {other.target} is the same file"
                for other in several if other is not one
            )  # fmt: skip
            errors[one] = InputError(
                f"{one.path} would become {one.target}, and so would {others}",
                parameter="target", advice="convert one of them apart, to another name",
            )  # fmt: skip
    return errors


def _is_done(one: Found) -> bool:
    """Return whether an output is there that is not the input itself."""
    return is_there(one.target) and place(one.path) != place(one.target)
