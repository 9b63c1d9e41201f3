"""From files to files: what upscale and deblur share; jobs in, lines of text or JSON out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.cli import interrupts, terminal
from snellen.cli.report import Report
from snellen.errors import SnellenError

if TYPE_CHECKING:
    from snellen.jobs.deblur import DeblurJob, DeblurResult
    from snellen.jobs.execute import Finished
    from snellen.jobs.upscale import UpscaleJob, UpscaleResult


def run_files(
    make: Callable[[], Sequence[UpscaleJob | DeblurJob]],
    inputs: tuple[Path, ...],
    report: Report,
    line: Callable[[Any], tuple[str, dict[str, Any]]],
) -> None:
    """Run jobs, report each, and exit with the highest code.

    Parameters
    ----------
    make : callable
        Makes the jobs; its errors are about the command as a whole.
    inputs : tuple of Path
        Of the command.
    report : Report
        Receives all events, and the results.
    line : callable
        Returns a sentence about a result, and the same as facts for JSON.
    """
    from snellen.jobs.events import Collected
    from snellen.jobs.execute import run_several
    from snellen.jobs.fallback import chosen

    events = Collected(report)  # so that what is said of all jobs is said once
    try:
        jobs = make()
        chosen(jobs[0].device, events)
    except SnellenError as error:
        report.failure(" ".join(map(str, inputs)), error)
        sys.exit(error.exit_code)

    def done(one: Finished) -> None:
        job: Any = one.job
        interrupts.check()
        if one.result is not None:
            text, facts = line(one.result)
            report.result(text, **facts)
            report.profile(str(_first(job.source)), one.result.profile)
        if one.error is not None:
            if str(job.target) == "-" and (gone := terminal.gone(one.error)) is not None:
                raise terminal.Lost(gone)
            report.failure(str(_first(job.source)), one.error)

    finished = run_several(jobs, events, done)
    sys.exit(max(one.error.exit_code if one.error else 0 for one in finished))


def facts(result: UpscaleResult | DeblurResult) -> dict[str, Any]:
    """Return what JSON says of a result: of a video its summary."""
    found = {"input": str(_first(result.source)), "output": str(result.target)}
    if result.summary is not None:
        return found | asdict(result.summary)
    return {
        **found, "width": result.width, "height": result.height, "device": result.device,
        "warnings": result.warnings,
    }  # fmt: skip


def sentence(result: UpscaleResult | DeblurResult) -> str:
    """Return what text says of a video."""
    summary = result.summary
    assert summary is not None
    frames = "1 frame" if summary.frames == 1 else f"{summary.frames} frames"
    encoder = "y4m" if summary.encoder == "wrapped_avframe" else summary.encoder
    return (
        f"{result.target}: {frames}, {summary.source} → {summary.result} "
        f"({encoder}, {summary.pixel_format}), {summary.seconds:.1f} s on {summary.device}"
    )


def _first(source: Path | tuple[Path, ...]) -> Path:
    return source[0] if isinstance(source, tuple) else source
