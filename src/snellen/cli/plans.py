"""--plan, --segments and --join: a long film by several runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from snellen.cli.groups import MACHINES, WRITTEN, group
from snellen.errors import InputError
from snellen.jobs.options.options import FileOptions
from snellen.schema import with_effect

if TYPE_CHECKING:
    from snellen.cli.report import Report
    from snellen.jobs.kinds.deblur import DeblurJob
    from snellen.jobs.kinds.upscale import UpscaleJob

_FREE = frozenset(
    {"plan", "segments", "join", "verbose", "quiet", "log", "as_json", "config", "recipe",
     "no_config", *with_effect(FileOptions, "machine")} - {"cluster"}
)  # fmt: skip
"""Options that may stand beside a plan; the plan has all others, and is made by one machine."""
_SPAN = re.compile(r"(\d{1,9})(?::(\d{1,9}))?", re.ASCII)

plan_options = group(
    MACHINES,
    click.option(
        "--plan",
        type=WRITTEN,
        metavar="FILE",
        help="Write how a long film is cut into segments, and make none; then, without INPUT, with "
        "--segments or --join.",
    ),
    click.option(
        "--segments",
        metavar="A:B",
        help="Make the segments A to B of the plan, counted from 1, as far as there are any; any "
        "number of runs may do so.",
    ),
    click.option("--join", is_flag=True, help="Join the segments of the plan, which all are made."),
)


def parts_of_a_plan(inputs: Sequence[Path], options: dict[str, Any]) -> bool:
    """Return whether a command is about a plan that is written (UsageError: not about any)."""
    context = click.get_current_context()
    asked = [name for name in ("segments", "join") if options[name]]
    if not asked:
        if not inputs and options["plan"] is not None:
            raise click.UsageError("--plan without INPUT needs --segments A:B or --join.")
        if not inputs:
            argument = next(one for one in context.command.params if one.name == "inputs")
            raise click.MissingParameter(ctx=context, param=argument)
        del options["segments"], options["join"]
        return False
    if options["plan"] is None:
        raise click.UsageError(f"--{asked[0]} needs --plan FILE, which has been written before.")
    given = [
        one
        for one in context.command.params
        if one.name not in _FREE
        and context.get_parameter_source(one.name or "") == ParameterSource.COMMANDLINE
    ]
    if len(asked) > 1 or given:
        other = "--join" if len(asked) > 1 else given[0].opts[0]
        name = "INPUT" if other == "inputs" else other
        if name == "--cluster":
            raise click.UsageError(
                f"--{asked[0]} goes without --cluster: this machine does it. A cluster shares "
                "out a whole film, without a plan: INPUT --cluster ADDRESS."
            )
        raise click.UsageError(f"--{asked[0]} goes without {name}: the plan has the job.")
    return True


def go_on(
    options: dict[str, Any], report: Report, line: Callable[[Any], tuple[str, dict[str, Any]]]
) -> int:
    """Make a part of a plan, or join all parts; return the exit code."""
    from snellen.jobs.calls.plans import join_plan, planned_job, run_segments

    plan, words = options["plan"], options["segments"]
    how = {name: options[name] for name in ("threads", "workers")}
    context = click.get_current_context()
    source = context.get_parameter_source("device")
    how["device"] = None if source == ParameterSource.DEFAULT else options["device"]
    try:
        span = None if words is None else _span(words)
        command = type(planned_job(plan)).__name__.removesuffix("Job").lower()
        if command != context.command.name:
            raise InputError(f"{plan} is a plan of snellen {command}")
        if span is not None:
            _report(plan, run_segments(plan, *span, report, **how), report)
            return 0
        result = join_plan(plan, report, **how)
    except Exception as error:
        return report.failure(str(plan), error)
    text, facts = line(result)
    report.result(text, **facts)
    return 0 if result.error is None else report.failure(str(result.source), result.error)


def write(
    plan: Path, jobs: Sequence[UpscaleJob | DeblurJob], overwrite: bool, report: Report
) -> int:
    """Write the plan of the only job; return the exit code."""
    from snellen.jobs.calls.plans import write_plan

    try:
        if len(jobs) != 1:
            raise InputError(f"got {len(jobs)} inputs; expected one film for a `plan`")
        job: Any = jobs[0]
        found = write_plan(job, plan, report, overwrite=overwrite)
    except Exception as error:
        return report.failure(str(plan), error)
    text = f"{plan}: {found.segments} segments, {found.frames} frames"
    report.result(
        text, event="plan", plan=str(plan), segments=found.segments, frames=found.frames,
        folder=str(found.folder),
    )  # fmt: skip
    return 0


def _span(words: str) -> tuple[int, int]:
    found = _SPAN.fullmatch(words)
    first, last = (0, 0) if found is None else (int(found[1]), int(found[2] or found[1]))
    if not 1 <= first <= last:
        raise InputError(
            f"got --segments {words}; expected the first and the last one, from 1, such as 1:40, "
            "or one"
        )
    return first, last


def _report(plan: Path, part: Any, report: Report) -> None:
    first, last = (part.made[0], part.made[-1]) if part.made else (None, None)
    if first is None:
        text = f"nothing to make: the film has {part.segments} segments"
    elif first == last:
        text = f"segment {first} of {part.segments} is finished"
    else:
        text = f"segments {first} to {last} of {part.segments} are finished"
    report.result(
        f"{plan}: {text}", event="segments", plan=str(plan), first=first, last=last,
        segments=part.segments, folder=str(part.folder),
    )  # fmt: skip
