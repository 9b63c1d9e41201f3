"""snellen upscale: videos, images, folders of both, y4m from and to pipes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from snellen.cli.groups import NAMED, Command, Output
from snellen.cli.options import file_command, values
from snellen.cli.plans import go_on, parts_of_a_plan, plan_options
from snellen.cli.previews import preview_options
from snellen.cli.reports import report_options
from snellen.jobs.kinds.upscale import UpscaleJob
from snellen.schema import nested
from snellen.upscaling.shipped import TITLES

if TYPE_CHECKING:
    from snellen.jobs.calls.planning import Plan
    from snellen.jobs.kinds.upscale import UpscaleResult


@click.command(
    cls=Command,
    examples=[
        ("a film for a 4K screen, whatever its size, as film-4k.mkv; sound and subtitles are kept",
         "snellen upscale film.mkv --size 4k"),
        ("all that is in a folder and the folders in it, three times as large",
         "snellen upscale photos -r -o large --scale 3 --skip-existing"),
    ],
)  # fmt: skip
@click.argument("inputs", metavar="INPUT...", nargs=-1, type=NAMED)
@file_command(UpscaleJob, "film-4k.mkv or photo-x2.png")
@plan_options
@report_options("the result beside its source")
@preview_options
def upscale(inputs: tuple[Path, ...], output: Output | None, **options: Any) -> None:
    """Enlarge INPUT… by super-resolution: videos, images, folders, URLs, - for a pipe.

    Sound, subtitles, chapters and tags of videos are kept, and profile and metadata of images; what
    the output cannot hold is said.

    Luma goes through a compact network, or with --method aplus through A+, by a model for the kind
    of source; of a video, its codec, bits and sharpness say which, and the result says why.
    """
    from snellen.cli.files import report_of, run_files  # help does without
    from snellen.jobs.inputs.naming import enlarged, goal_of

    def word(source: Path) -> str:
        return enlarged(source, goal_of(options))

    if parts_of_a_plan(inputs, options):
        with report_of(options) as report:
            sys.exit(go_on(options, report, _line))
    run_files(inputs, output, options, word, _jobs, _line)


def _jobs(todo: Plan, options: dict[str, Any]) -> list[UpscaleJob]:
    fields = nested(UpscaleJob, values(UpscaleJob, options))
    return [UpscaleJob(source=one, target=goal, **fields) for one, goal in todo.pairs]


def _line(result: UpscaleResult) -> tuple[str, dict[str, Any]]:
    """Return a sentence about a result, and the same as facts for JSON."""
    from snellen.cli.files import facts, sentence

    how = f"{TITLES[result.method]} ({Path(result.model).name})"
    if result.source_kind not in (None, "clean"):
        how += f" for {result.source_kind}"
    more = {name: getattr(result, name) for name in ("model", "method", "source_kind")}
    if result.summary is not None:
        return f"{sentence(result)}, {how}", facts(result) | more
    where = "" if result.device == "cpu" else f" on {result.device}"
    if result.pages > 1:
        where = f", {result.pages} pages{where}"
        more["pages"] = result.pages
    return f"{result.target}: {result.width}×{result.height}{where}, {how}", facts(result) | more
