"""snellen upscale: videos, images, folders of both, y4m from and to pipes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from snellen.cli.enhance import enhancement, enhancement_options
from snellen.cli.files import facts, report_of, run_files, sentence
from snellen.cli.groups import FILES, METHOD, Command, Decorator, group
from snellen.cli.options import SEGMENTS, option, output_option, video, video_command
from snellen.cli.plans import go_on, parts_of_a_plan, plan_options
from snellen.cli.previews import preview_options
from snellen.cli.reports import report_options
from snellen.cli.types import NAMED, NUMBER, Output, Whole
from snellen.errors import worded
from snellen.upscaling import shipped

if TYPE_CHECKING:
    from snellen.jobs.planning import Plan
    from snellen.jobs.upscale import UpscaleJob, UpscaleResult


class _Method(click.Choice):  # type: ignore[type-arg]  # click 8.1 has no parameters
    """A method, or a refusal that says where other models are given."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message.rstrip('.')}; {worded(shipped.OWN, option)}", param, ctx)


def choices() -> list[Decorator]:
    """Return --method and --source, where the models of this package leave a choice."""
    given = (
        ("--method", "method", shipped.methods(),
         f"What enlarges luma [default: auto, which is {shipped.DEFAULT}]"),
        ("--source", "source_kind", shipped.kinds(),
         "What the pictures are: clean, film (coded) or soft (coded and blurred) [default: clean "
         "for images, auto for videos]"),
    )  # fmt: skip
    return [
        click.option(
            name,
            to,
            type=(_Method if to == "method" else click.Choice)(["auto", *words]),
            help=f"{text}; not with --model.",
        )
        for name, to, words, text in given
        if len(words) > 1
    ]


_BY = "scale, --method and --source" if choices() else "scale"


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
@group(
    FILES,
    output_option("film-4k.mkv or photo-x2.png"),
    *SEGMENTS,
)
@group(
    METHOD,
    click.option(
        "--scale",
        type=NUMBER,
        metavar="N",
        help="Magnification: 2, 3, 4, or any number up to 16, as 1.5 [default: 2].",
    ),
    click.option(
        "--size",
        metavar="WxH|4k|…",
        help="Size instead of --scale: 3840x2160, 8k, 4k, 1440p, 1080p or 720p; the largest "
        "picture inside it.",
    ),
    click.option(
        "--height",
        type=Whole(1),
        metavar="N",
        help="Rows instead of --scale; the width follows.",
    ),
    click.option(
        "--fit",
        type=click.Choice(["pad", "crop", "stretch"]),
        help="How a picture of another shape becomes exactly --size.",
    ),
    click.option(
        "--model",
        metavar="NAME|FILE",
        help="A shipped model's name (`snellen doctor` lists them; t91-x2 is A+ of 2014), or a "
        f".safetensors file of A+ or of a compact network [default: by {_BY}].",
    ),
    *choices(),
    click.option(
        "--chroma",
        type=click.Choice(["auto", "cpu", "gpu"]),
        default="auto",
        show_default=True,
        help="Where video's chroma is enlarged.",
    ),
)
@enhancement_options
@plan_options
@video_command
@report_options("the result beside its source")
@preview_options
def upscale(inputs: tuple[Path, ...], output: Output | None, **options: Any) -> None:
    """Enlarge INPUT… by super-resolution: videos, images, folders, URLs, - for a pipe.

    Sound, subtitles, chapters and tags of videos are kept, and profile and metadata of images; what
    the output cannot hold is said.

    Luma goes through a compact network, or with --method aplus through A+, by a model for the kind
    of source; of a video, its codec, bits and sharpness say which, and the result says why.
    """
    from snellen.jobs.naming import enlarged
    from snellen.jobs.sizes import wanted

    def word(source: Path) -> str:
        sized = (options[name] for name in ("scale", "size", "height", "fit"))
        return enlarged(source, wanted(*sized))

    if parts_of_a_plan(inputs, options):
        with report_of(options) as report:
            sys.exit(go_on(options, report, _line))
    run_files(inputs, output, options, word, _jobs, _line)


def _jobs(todo: Plan, options: dict[str, Any]) -> list[UpscaleJob]:
    from snellen.jobs.upscale import UpscaleJob

    how, more = video(options), enhancement(options)
    options["segments"] = not options.pop("no_segments")
    return [
        UpscaleJob(source=one, target=goal, video=how, enhancement=more, **options)
        for one, goal in todo.pairs
    ]


def _line(result: UpscaleResult) -> tuple[str, dict[str, Any]]:
    """Return a sentence about a result, and the same as facts for JSON."""
    how = f"{shipped.TITLES[result.method]} ({Path(result.model).name})"
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
