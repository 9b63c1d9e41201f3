"""--preview: short excerpts of a film by several settings, in a report."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from snellen.addresses import without_secrets
from snellen.cli.groups import NUMBER, Whole, group
from snellen.cli.options import in_options, key
from snellen.cli.terminal import counted
from snellen.errors import InputError, SnellenError
from snellen.schema import parameters

if TYPE_CHECKING:
    from snellen.cli.report import Report
    from snellen.jobs.calls.planning import Plan
    from snellen.jobs.calls.previews import PreviewResult
    from snellen.jobs.kinds.deblur import DeblurJob
    from snellen.jobs.kinds.upscale import UpscaleJob

    AnyJob = UpscaleJob | DeblurJob
    Making = Callable[[Plan, dict[str, Any]], Sequence[AnyJob]]

PREVIEW = "Preview of a video"
GIVEN = "as given"
"""The report's name of what the command's own options make, beside others."""
_OWN = ("preview", "preview_at", "preview_with", "preview_seconds")

preview_options = group(
    PREVIEW,
    click.option(
        "--preview",
        type=Whole(1, 32),
        metavar="N",
        help="Make N short excerpts of the video, spread over it, and a report that shows them "
        "beside the source (--report FILE, or film-preview.html beside it); not the film.",
    ),
    click.option(
        "--preview-at",
        multiple=True,
        metavar="TIME",
        help="An excerpt that begins here; may be repeated.",
    ),
    click.option(
        "--preview-with",
        multiple=True,
        metavar='"OPTIONS"',
        help="The same excerpts with these options added to the others, side by side, as "
        '"--method aplus" or "--crf 24"; may be repeated.',
    ),
    click.option(
        "--preview-seconds",
        type=NUMBER,
        metavar="S",
        help="Length of an excerpt [default: 2].",
    ),
)


class Preview(NamedTuple):
    """A request for a preview."""

    number: int
    at: tuple[str, ...]
    variants: tuple[str, ...]
    seconds: float | None


def taken(options: dict[str, Any]) -> Preview | None:
    """Take the options of a preview out of a command's options; None: none is wanted."""
    count, at, variants, seconds = (options.pop(name) for name in _OWN)
    if count is None and not at and not variants and seconds is None:
        return None
    return Preview(count or 0, at, variants, seconds)


def run_preview(
    wanted: Preview,
    target: tuple[Path | None, float],
    jobs: Sequence[AnyJob],
    make: Making,
    todo: Plan,
    report: Report,
) -> int:
    """Write the report of a preview, say so, and return the exit code.

    `target` is as of `reports.taken`; `make` makes the jobs of a plan and of options. InputError:
    options that do not go together.
    """
    from snellen.cli.reports import command_line
    from snellen.jobs.calls.previews import SECONDS, preview

    if not (wanted.number or wanted.at):
        name = "preview_with" if wanted.variants else "preview_seconds"
        raise InputError(
            f"got `{name}` without `preview`", parameter=name, advice="give `preview`=5, or a time"
        )
    if len(jobs) != 1:
        raise InputError(
            f"got {len(jobs)} inputs for a preview; expected one video", parameter="preview"
        )
    labelled = {GIVEN if wanted.variants else "preview": jobs[0]}
    for text in wanted.variants:
        job, label = _varied(text, make, todo, type(jobs[0])), text
        if "://" in text:
            label = shlex.join(map(without_secrets, shlex.split(text)))
            label += f" ({len(labelled)})" * (label in labelled)
        labelled[label] = job
    where, size = target
    source = jobs[0].source
    if where is None:
        assert isinstance(source, Path)
        where = source.with_name(f"{source.stem}-preview.html")
    result = preview(
        labelled, where, count=wanted.number, at=wanted.at,
        length=SECONDS if wanted.seconds is None else wanted.seconds, report_size=size,
        overwrite=jobs[0].overwrite, command=command_line(), events=report,
    )  # fmt: skip
    report.result(*_lines(result), **_facts(result))
    return 0


def _varied(text: str, make: Making, todo: Plan, kind: type[AnyJob]) -> AnyJob:
    """Return the command's job with further options."""
    context = click.get_current_context()
    words = list(context.find_root().obj)[1:]
    try:
        more = shlex.split(text)
    except ValueError as error:
        raise InputError(
            f"got `preview_with`={text!r}: {error}", parameter="preview_with"
        ) from None
    end = words.index("--") if "--" in words else len(words)
    line = [*words[:end], *more, *words[end:]]
    name = context.info_name or ""
    try:
        parsed = context.command.make_context(name, line, parent=context.parent).params
    except click.exceptions.Exit:  # --help
        parsed = {}
    except click.ClickException as error:
        said = " ".join(error.format_message().split("\n"))
        raise InputError(f"got `preview_with`={text!r}: {said}", parameter="preview_with") from None
    except SnellenError as error:  # of a recipe
        raise error.about(f"--preview-with {text!r}") from error
    varied = {key(one) for one in parameters(kind).values() if one.about.single}
    same = context.params.keys() - varied
    if not (more and parsed) or any(parsed[name] != context.params[name] for name in same):
        raise InputError(
            f"got `preview_with`={text!r}; expected options of the method, of enhancement or of "
            "the encoder",
            parameter="preview_with",
        )
    try:
        (job,) = make(todo, parsed)
    except SnellenError as error:
        raise error.about(f"--preview-with {text!r}") from error
    return job


def _lines(result: PreviewResult) -> list[str]:
    starts = ", ".join(f"{start:.3f} s" for start in result.starts)
    lines = [f"excerpt{'s' * (len(result.starts) > 1)} at {starts}"]
    for one in result.variants:
        rate = one.size * 8 / 1e6 / (sum(result.seconds) or 1)
        lines.append(
            f"{one.label}: {counted(one.frames, 'frame')}, "
            f"{one.seconds / max(1, one.frames):.2g} s a frame, {rate:.3g} Mbit/s"
            + (f", {Path(one.model).name}" if one.model else "")
        )
    lines.append(
        f"{result.target}: {result.size / 1e6:.1f} MB, pictures of "
        f"{counted(result.pictures, 'frame')}"
    )
    return lines


def _facts(result: PreviewResult) -> dict[str, Any]:
    facts = asdict(result)
    facts["output"], facts["bytes"] = str(facts.pop("target")), facts.pop("size")
    facts["warnings"] = in_options(result.warnings)
    return {"output": facts.pop("output"), **facts}
