"""Conversions in one call: a film is inspected, made ready for a step, and run."""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager
from functools import partial

from snellen.frames.step import Step
from snellen.video import convert as converting
from snellen.video import dry_run as dry_runs
from snellen.video.clip import Clip
from snellen.video.progress import Meter
from snellen.video.ready import inspected, readied
from snellen.video.segments import begin
from snellen.video.source.decode import Source
from snellen.video.threads import run_dry

OPENING = ("clip", "decoder", "overwrite")
READYING = ("encoding", "audio", "quality", "strict", "on_warning")


@contextmanager
def ready(source, target, step, **settings):
    """Make a film ready for a step, or for a function of its MediaInfo that makes one."""
    opening = {name: settings.pop(name) for name in OPENING if name in settings}
    with ExitStack() as stack:
        try:
            film = stack.enter_context(inspected(source, target, **opening))
        except BaseException:
            if isinstance(step, Step):
                step.close()
            raise
        made = (step, film.info) if isinstance(step, Step) else step(film.info)
        yield stack.enter_context(readied(film, *made, **settings))


def _run(function, source, target, step, **settings):
    own = {n: settings.pop(n) for n in (*OPENING, *READYING) if n in settings}
    with ready(source, target, step, **own) as film:
        return function(film, **settings)


convert = partial(_run, converting.convert)
dry_run = partial(_run, dry_runs.dry_run)
make_part = partial(_run, begin.make_part)


def drain(source, step, *, clip=None, decoder="auto", on_warning=None, on_progress=None):
    """Run a step on every frame of a film, drop the results, and return how many there were."""
    with ExitStack() as stack:
        stack.callback(step.close)
        opened = stack.enter_context(closing(Source(source, clip or Clip(), decoder)))
        info = opened.info
        if info.decoder_notice and on_warning:
            on_warning(info.decoder_notice)
        step.prepare(info.picture.format)
        frames = info.frames and round(info.frames * step.traits.rate)
        return run_dry(opened, step, Meter(frames, on_progress))
