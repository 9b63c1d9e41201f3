"""--dry-run: what jobs would do, as text or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.cli import interrupts
from snellen.cli.options import in_options
from snellen.cli.report import Report
from snellen.cli.terminal import counted
from snellen.upscaling.shipped import TITLES

if TYPE_CHECKING:
    from snellen.jobs.calls.dry import DryRun, Together
    from snellen.jobs.kinds.deblur import DeblurJob
    from snellen.jobs.kinds.upscale import UpscaleJob


def dry_runs(jobs: Sequence[UpscaleJob | DeblurJob], report: Report) -> int:
    """Report what each job would do, and return the highest exit code."""
    from snellen.jobs.calls.dry import dry_run, together
    from snellen.jobs.events import Collected
    from snellen.jobs.inputs.inputs import claim
    from snellen.jobs.kinds.files import written_by

    report.results_are_asked_for = True
    codes = [0]
    events = Collected(report)
    outputs: dict[str, Path] = {}
    fine, would = [], []
    for job in jobs:
        interrupts.check()
        try:
            claim(set(written_by(job)), outputs, "target")
            found = dry_run(job, events)
        except Exception as error:
            codes.append(report.failure(_name(job.source), error))
            continue
        interrupts.check()
        report.result(*_lines(found), event="dry_run", **_facts(found))
        fine.append(job)
        would.append(found)
    shared = together(fine, would)
    if shared is not None:
        report.result(_of_files(shared), event="dry_run_together", **asdict(shared))
    return max(codes)


def _lines(found: DryRun) -> list[str]:
    """Return what text says of a job: a line for each thing, named at its beginning."""
    film = found.film
    rows = [("would make", f"{_name(found.source)} → {found.target}")]
    if film is None:
        pages = "" if found.pages == 1 else f", {found.pages} pages"
        rows.append(("picture", f"{found.width}×{found.height}{pages}"))
    else:
        rows += [("stream", f"{one.text}: {one.outcome}") for one in film.streams]
        rows.append(("chain", " → ".join(film.chain)))
    if found.model:
        kind = "" if found.source_kind is None else f", for {found.source_kind}"
        rows.append(("model", f"{Path(found.model).name} ({TITLES[found.method]}){kind}"))
    rows.append(("device", found.device))
    if film is not None:
        rows += _of_film(found)
    if found.free is not None:
        rows.append(("disk", _room(found)))
    return [f"{name + ':':<12}{text}" for name, text in rows]


def _of_film(found: DryRun) -> list[tuple[str, str]]:
    film = found.film
    assert film is not None
    settings = ", ".join(f"{key}={value}" for key, value in film.encoder_options.items())
    encoder = "y4m" if film.encoder == "wrapped_avframe" else film.encoder
    rows = [("encoder", f"{encoder} ({film.pixel_format}){settings and ': '}{settings}")]
    if film.target is not None:
        rows.append(("target", film.target))
    segments, estimate = film.segments, film.estimate
    if segments.starts:
        done = f", {len(segments.finished)} of them are finished" if segments.finished else ""
        rows.append(("segments", f"{len(segments.starts)} in {segments.folder}{done}"))
    else:
        why = "" if segments.why is None else f": {segments.why}"
        rows.append(("segments", f"none, it is made in one piece{why}"))
    frames = "unknown" if film.frames is None else str(film.frames)
    rows.append(("frames", frames))
    if found.workers:
        rows.append(("workers", _of_workers(found)))
    if found.cluster is not None:
        rows.append(("cluster", f"{found.cluster} makes the segments; it was not asked"))
    if estimate is None:
        rows.append(("estimate", "none: no frame could be tried beforehand"))
        return rows
    tried = f"from {counted(estimate.frames, 'frame')} at {counted(estimate.places, 'place')}"
    what = f"{estimate.fps:.3g} frames a second"
    if estimate.seconds is not None and estimate.size is not None:
        left = " for what is left" if segments.finished else ""
        what = f"{duration(estimate.seconds)}{left} ({what}), {_bytes(estimate.size)}"
    if found.workers:
        what += ", by one worker"
        if found.seconds is not None:
            what += f"; {duration(found.seconds)} by all of them, about, on these cores"
    elif found.cluster is not None:
        what += ", by this machine alone"
    rows.append(("estimate", f"{what}; {tried}, which were really made"))
    return rows


def _of_workers(found: DryRun) -> str:
    film, cores = found.film, found.cores
    assert film is not None and cores is not None and film.segments.encoder_threads is not None
    where = ", ".join(dict.fromkeys(found.workers))
    threads = counted(film.segments.encoder_threads, "thread")
    each = f"each gets {counted(cores, 'core')}, and its encoder has {threads}"
    return f"{len(found.workers)} on {where}; {each}"


def _of_files(shared: Together) -> str:
    """Return what text says of files that workers share."""
    files = f"{'together:':<12}{counted(shared.files, 'file')}, each made by one"
    if shared.cluster is not None:
        return f"{files} task of {shared.cluster}, which was not asked"
    where = ", ".join(dict.fromkeys(shared.workers))
    each = f"each gets {counted(shared.cores, 'core')}"
    text = f"{files} of {len(shared.workers)} workers on {where}; {each}"
    if shared.seconds is None:
        return text
    return f"{text}; the films {duration(shared.seconds)} by all of them, about, on these cores"


def _room(found: DryRun) -> str:
    assert found.free is not None
    text = f"{_bytes(found.free)} free"
    needed = found.needed
    if needed is None or needed <= found.free:
        return text
    beside = " with its segments" if found.film and found.film.segments.starts else ""
    return f"{text}: the result{beside} would need about {_bytes(needed)}"


def _facts(found: DryRun) -> dict[str, Any]:
    """Return the same for JSON."""
    facts: dict[str, Any] = {
        "input": _name(found.source), "output": str(found.target), "width": found.width,
        "height": found.height, "device": found.device,
    }  # fmt: skip
    if found.model:
        facts |= {name: getattr(found, name) for name in ("model", "method", "source_kind")}
    if found.film is None:
        facts["pages"] = found.pages
    else:
        film = asdict(found.film)
        film["segments"]["folder"] = str(film["segments"]["folder"] or "") or None
        film.pop("warnings")
        film["dropped"] = in_options(film["dropped"])
        facts |= film
    if found.workers:
        facts |= {"workers": list(found.workers), "cores": found.cores}
        facts["seconds_by_all"] = found.seconds
    if found.cluster is not None:
        facts["cluster"] = found.cluster
    return facts | {
        "needed": found.needed, "free": found.free, "warnings": in_options(found.warnings)
    }  # fmt: skip


def duration(seconds: float) -> str:
    """Return a duration as people say it, to two figures or so."""
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 100 else f"{seconds:.0f} s"
    minutes = seconds / 60
    if minutes < 120:
        return f"{minutes:.0f} min"
    hours, rest = divmod(round(minutes), 60)
    return f"{hours} h {rest} min" if hours < 48 else f"{hours} h"


def _bytes(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count / 1e3:.3g} kB"


def _name(source: Path | tuple[Path, ...]) -> str:
    return str(source[0] if isinstance(source, tuple) else source)
