"""From files to files: what upscale and deblur share; jobs in, lines of text or JSON out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.cli import interrupts, previews, reports, terminal
from snellen.cli.groups import PIPE, Output
from snellen.cli.options import in_options
from snellen.cli.report import NORMAL, QUIET, VERBOSE, Report
from snellen.errors import InputError, SnellenError

if TYPE_CHECKING:
    from snellen.jobs.calls.job_ticket import Finished
    from snellen.jobs.calls.planning import Plan
    from snellen.jobs.calls.report_after import ResultReport
    from snellen.jobs.inputs.naming import Word
    from snellen.jobs.kinds.deblur import DeblurJob, DeblurResult
    from snellen.jobs.kinds.upscale import UpscaleJob, UpscaleResult


def report_of(options: dict[str, Any], output_is_stdout: bool = False) -> Report:
    """Take the options of reports out of a command's options, and return the report.

    InputError: two of them do not go together.
    """
    return Report(options.pop("as_json"), output_is_stdout, *reporting(options))


def reporting(options: dict[str, Any]) -> tuple[int, Path | None]:
    """Take -v, -q and --log out of a command's options; return the level, and the log."""
    verbose, quiet = options.pop("verbose"), options.pop("quiet")
    if verbose and quiet:
        raise InputError("got -v with -q", advice="leave one of them out")
    return VERBOSE if verbose else QUIET if quiet else NORMAL, options.pop("log")


def run_files(
    inputs: tuple[Path, ...],
    output: Output | None,
    options: dict[str, Any],
    word: Word,
    make: Callable[[Plan, dict[str, Any]], Sequence[UpscaleJob | DeblurJob]],
    line: Callable[[Any], tuple[str, dict[str, Any]]],
    together: bool = False,
) -> None:
    """Plan, run jobs, report each, and exit with the highest code.

    `word` returns what the name of a result says, where -o is left out. `make` makes the jobs of a
    plan and of what is left of the options; its errors are about the command as a whole. `line`
    returns a sentence about a result, and the same as facts for JSON. `together`: all inputs become
    one output.
    """
    from snellen.jobs.calls.planning import plan, without_existing

    dry, file = options.pop("dry_run"), options.pop("plan", None)
    looked = previews.taken(options)
    to_stdout = output is not None and output.path == PIPE and not dry and looked is None
    with report_of(options, to_stdout) as report:
        try:
            wanted = reports.taken(options)
            how = {name: options.pop(name) for name in ("recursive", "skip_existing")}
            todo = plan(
                inputs,
                None if output is None else output.path,
                word,
                into=output is not None and output.is_folder,
                overwrite=options["overwrite"],
                together=together,
                sequences=options["fps"] is not None,
                **how,
            )
            if looked is None and file is None and not options["overwrite"]:
                todo = without_existing(todo)
            jobs = make(todo, options)
            if looked is not None:
                if dry or file is not None:
                    other = "dry_run" if dry else "plan"
                    raise InputError(f"got `preview` with `{other}`", parameter="preview")
                sys.exit(previews.run_preview(looked, wanted, jobs, make, todo, report))
            if file is not None and (dry or wanted[0] is not None):
                other = "dry_run" if dry else "report"
                raise InputError(f"got `plan` with `{other}`", parameter="plan")
            after = reports.planned(wanted, jobs)
        except SnellenError as error:
            sys.exit(report.failure(" ".join(map(str, inputs)), error))
        if file is not None:
            from snellen.cli.plans import write

            sys.exit(write(file, jobs, options["overwrite"], report))
        if dry:
            from snellen.cli.dry_run import dry_runs

            sys.exit(max([*not_done(todo, report), dry_runs(jobs, report)]))
        sys.exit(_run(todo, jobs, report, line, after))


def _run(
    todo: Plan,
    jobs: Sequence[UpscaleJob | DeblurJob],
    report: Report,
    line: Callable[[Any], tuple[str, dict[str, Any]]],
    after: ResultReport | None,
) -> int:
    """Run the jobs, report each, and return the highest exit code."""
    # `after` is the report about the only job, where one is wanted.
    from snellen.files.atomic import protected
    from snellen.jobs.calls.planning import passed_over
    from snellen.jobs.calls.several import run_several
    from snellen.jobs.events import Collected
    from snellen.jobs.fallback import chosen

    events = Collected(report)  # so that what is said of all jobs is said once
    codes = [0, *not_done(todo, report)]
    passed = 0
    if jobs:
        try:
            chosen(jobs[0].device, events)
        except SnellenError as error:
            return report.failure(str(_first(jobs[0].source)), error)

    def begin(job: Any) -> None:
        report.begun(str(_first(job.source)), str(job.target), job)

    def done(one: Finished) -> None:
        job: Any = one.job
        interrupts.check()
        if one.result is not None:
            text, facts = line(one.result)
            report.result(text, **facts)
            report.profile(str(_first(job.source)), one.result.profile)
            if after is not None:
                codes.append(_write(after, one.result, report))
        why = None if one.result is not None else passed_over(todo, job.target, one.error)
        if why is not None:
            nonlocal passed
            passed += 1
            report.skipped(str(_first(job.source)), str(job.target), why)
        elif one.error is not None:
            if job.target == PIPE and (gone := terminal.gone(one.error)) is not None:
                raise terminal.Lost(gone)
            codes.append(report.failure(str(_first(job.source)), one.error))

    with protected([] if report.log is None else [report.log.path]):
        try:
            finished = run_several(jobs, events, done, begin)
        except SnellenError as error:  # of the workers
            return report.failure(" ".join(str(_first(job.source)) for job in jobs[:1]), error)
    results = [one for one in finished if one.result is not None]
    if todo.several or todo.skipped or passed:
        failed = len(finished) - len(results) - passed + len(todo.failed) + len(todo.existing)
        damaged = sum(one.error is not None for one in results)
        report.summary(len(results), damaged, failed, len(todo.skipped) + passed)
    return max(codes)


def not_done(todo: Plan, report: Report) -> list[int]:
    """Report which inputs of a plan are left out, and return the exit codes of those that fail."""
    clash = todo.clash()
    failed = [*todo.failed, *([] if clash is None else [(todo.existing[0][0], clash)])]
    for folder, error in failed:
        report.failure(str(folder), error)
    for one in todo.skipped:
        report.skipped(str(one.source), str(one.target), one.why)
    return [error.exit_code for _, error in failed]


def _write(after: ResultReport, result: Any, report: Report) -> int:
    from snellen.jobs.calls.report_after import after_result

    return reports.write(after.job, lambda: after_result(after, result, report), report)


def facts(result: UpscaleResult | DeblurResult) -> dict[str, Any]:
    """Return what JSON says of a result: of a video its summary."""
    found = {"input": str(_first(result.source)), "output": str(result.target)}
    if result.summary is not None:
        return found | asdict(result.summary) | {"warnings": in_options(result.warnings)}
    return {
        **found, "width": result.width, "height": result.height, "device": result.device,
        "warnings": in_options(result.warnings),
    }  # fmt: skip


def sentence(result: UpscaleResult | DeblurResult) -> str:
    """Return what text says of a video."""
    summary = result.summary
    assert summary is not None
    frames = terminal.counted(summary.frames, "frame")
    encoder = "y4m" if summary.encoder == "wrapped_avframe" else summary.encoder
    return (
        f"{result.target}: {frames}, {summary.source} → {summary.result} "
        f"({encoder}, {summary.pixel_format}), {summary.seconds:.1f} s on {summary.device}"
    )


def _first(source: Path | tuple[Path, ...]) -> Path:
    return source[0] if isinstance(source, tuple) else source
