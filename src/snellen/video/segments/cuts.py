"""Decides whether a film is worked on in segments, and where it is cut."""

from __future__ import annotations

import re
from fractions import Fraction

from snellen.cpu.threads import available, chosen, cores
from snellen.video.media import MediaInfo
from snellen.video.segments.store import Cuts
from snellen.video.segments.values import Cut
from snellen.video.sink.encode import Plan
from snellen.video.sink.output import Output
from snellen.video.source.scan import Scan
from snellen.video.step import RateStep, Step

LONG = 60
"""Seconds of a film from which on it is cut."""
WORK = 30
"""Seconds of estimated work from which on it is cut, too."""
SECONDS = {"cpu": 10}
"""Least duration of a segment: a run that is killed loses as much."""
_OTHERWISE = 60
"""On a GPU, where opening the film anew would take longer than less."""
_RATES = {"cpu": 3_000_000}
"""Pixels of the result that a core makes a second, roughly."""
_BY_GPU = 30_000_000
_SUFFIXES = (".mp4", ".mov", ".m4v", ".mkv")
_COUNTING = ("avi",)
"""Containers without times: a damaged one gives others where reading begins elsewhere."""
_PASSES = re.compile(r"(pass|passlogfile|stats)=")
"""Options that let an encoder keep statistics of the whole film in a file."""
_X265 = ((32, 6), (16, 4), (8, 3), (4, 2))
"""Frames that x265 encodes at once by default, by cores."""


def is_long(info: MediaInfo, plan: Plan, step: Step | RateStep) -> bool:
    """Return whether a film is so long that losing the work would hurt."""
    if info.frames is None:
        return True
    pixels = info.frames * plan.format.width * plan.format.height
    rate = _RATES.get(step.device_name, _BY_GPU) * available()
    return info.frames / info.rate > LONG or pixels / rate > WORK


def hindrance(info: MediaInfo, plan: Plan, step: Step | RateStep, output: Output) -> str | None:
    """Return why a film cannot be cut, as the end of a sentence; None: it can, as far as known."""
    if info.path is None:
        return "what comes from a pipe, or from pictures, cannot be read twice"
    if output.suffix not in _SUFFIXES:
        return f"the output is no file of {', '.join(_SUFFIXES)}"
    if isinstance(step, RateStep):
        return "its frame rate changes"
    if info.clip.deinterlace or info.clip.ivtc:
        return "progressive frames are made of several interlaced ones"
    if plan.alpha:
        return "its alpha channel may be beside the packets"
    options = [f"{key}={value}" for key, value in plan.encoder.options.items()]
    if plan.encoder.frame_clock or any(map(_PASSES.search, options)):
        return f"{plan.encoder.codec} with these settings needs the whole film"
    return None


def cut(scan: Scan, info: MediaInfo, seconds: int) -> tuple[Cut, ...] | str:
    """Return the segments of a film, or why there are none, as the end of a sentence.

    Parameters
    ----------
    scan : Scan
        Of the film.
    info : MediaInfo
        Of the film, with the clip.
    seconds : int
        Least duration of a segment but the last.
    """
    if scan.irregular is not None:
        return scan.irregular
    clip, base = info.clip, scan.time_base
    begin = info.zero if clip.start is None else scan.start + clip.start
    times = [time for time in scan.times if time * base >= begin]
    if info.end is not None:
        times = [time for time in times if time * base < info.end]
    if clip.frames is not None:
        times = times[: clip.frames]
    places = [0]
    for number, time in enumerate(times):
        far = (time - times[places[-1]]) * base >= seconds
        if far and time in scan.keys and time * base > scan.start:
            places.append(number)
    if len(places) < 2:
        return "it has no key frames at which it could be cut"
    found = []
    for number, (first, last) in enumerate(zip(places, [*places[1:], len(times)], strict=True), 1):
        more = last + 1 < len(times)
        found.append(
            Cut(
                number=number,
                begin=times[first] if number > 1 else None,
                end=times[last] if last < len(times) else None,
                stop=times[last + 1] if more else None,
                frames=last - first,
            )
        )
    return tuple(found)


def end_of(scan: Scan, info: MediaInfo) -> Fraction | None:
    """Return where the clip ends, in seconds of the container's clock; None: with the input."""
    clip, base = info.clip, scan.time_base
    if clip.frames is None:
        return info.end
    begin = info.zero if clip.start is None else scan.start + clip.start
    behind = [time for time in scan.times if time * base >= begin][clip.frames :]
    if not behind:
        return info.end
    time = behind[0] * base
    return time if info.end is None else min(time, info.end)


def planned(scan: Scan, info: MediaInfo, plan: Plan, step: Step | RateStep) -> Cuts | str:
    """Return how a film is cut, or why it is not, as the end of a sentence."""
    if info.container in _COUNTING and scan.short is not None:
        return "its times count packets, of which some are missing"
    found = cut(scan, info, SECONDS.get(step.device_name, _OTHERWISE))
    if isinstance(found, str):
        return found
    threads = chosen() or _threads(plan.encoder.codec)
    return Cuts(scan.time_base, scan.start, end_of(scan, info), scan.short, threads, found)


def _threads(codec: str) -> int:
    """Return the threads of an encoder, which its packets may depend on."""
    count = cores()
    if codec == "libx265":
        return next((threads for least, threads in _X265 if count >= least), 1)
    return min(16, count * 3 // 2) if codec == "libx264" else min(16, count)
