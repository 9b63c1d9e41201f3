"""Reads the packets of a film, decides whether it is worked on in segments, and where it is cut."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise
from math import ceil
from pathlib import Path

from av.video.frame import VideoFrame

from snellen.cpu.threads import chosen, cores, together
from snellen.files.containers import container, suffixes
from snellen.frames.step import Step
from snellen.video.media import MediaInfo
from snellen.video.segments.manifest import Cuts
from snellen.video.segments.values import Cut
from snellen.video.sink.encode import Plan, of_whole_film
from snellen.video.sink.output import Output
from snellen.video.sink.registry import encoder_of, traits
from snellen.video.source.filters import CYCLE
from snellen.video.source.read import Reader
from snellen.video.source.truncation import cut_short, samples_short


@dataclass(frozen=True, slots=True)
class Scan:
    """Facts that the packets of a film's video state."""

    start: Fraction
    """Seconds of the container's clock from which `Clip.start` counts."""
    time_base: Fraction
    """Seconds of a tick."""
    times: tuple[int, ...]
    """When each frame is shown, in ticks that rise."""
    keys: frozenset[int]
    """Times of key frames."""
    irregular: str | None
    """Why times cannot be relied on, as the end of a sentence; None: they can."""
    short: str | None
    """How much less there is than the container promises; None: nothing."""


def scan(path: Path, maps: Sequence[str] = ()) -> Scan:
    """Read the packets of a file; `maps` as of `ffmpeg.choose_stream`."""
    times: list[int] = []
    keys: set[int] = set()
    why, count = None, 0
    decoded: int | None = None
    with closing(Reader(path, str(path), maps=maps)) as reader:
        for packet in reader.packets():
            if packet.stream.index != reader.stream.index:
                continue
            count += 1
            if packet.pts is None:
                why = "its packets have no times"
                continue
            if packet.dts is not None:
                if decoded is not None and packet.dts < decoded:
                    why = "its times jump"
                decoded = packet.dts
            if packet.is_discard:
                continue
            times.append(packet.pts)
            if packet.is_keyframe:
                keys.add(packet.pts)
        rising = sorted(set(times))
        if len(rising) < len(times):
            why = "several frames have the same time"
        name = reader.container.format.name
        short = reader.damage.short or cut_short(path, name, True)
        short = short or samples_short(path, name, reader.stream.id, count)
        return Scan(reader.start(), reader.time_base, tuple(rising), frozenset(keys), why, short)


LONG = 60
"""Seconds of a film from which on it is cut."""
WORK = 30
"""Seconds of estimated work from which on it is cut, too."""
SECONDS = {"cpu": 10}
"""Least duration of a segment: a run that is killed loses as much."""
OTHERWISE = 60
"""On a GPU, where opening the film anew would take longer than less."""
LEADING = 4
"""A segment is at least so many times as long as the frames around it that its results need."""
_RATES = {"cpu": 3_000_000}
"""Pixels of the result that a core makes a second, roughly."""
_BY_GPU = 30_000_000
_COUNTING = ("avi",)
"""Containers without times: a damaged one gives others where reading begins elsewhere."""
_CYCLES_BEFORE = 2
"""Cycles of telecine that are undone before those of a segment: the filters compare frames."""
_LOOKED_AT = 12
"""Frames of which is seen whether each has a packet of its own."""


ALONE = "it is made in one piece, by one process of this machine"
"""So it is with a film that is not cut: there is nothing which workers would share."""


def too_short() -> str:
    """Return why a film is not cut that is not long, as the end of a sentence."""
    return (
        f"films are cut that last more than {LONG} s, or are estimated to take more than {WORK} s"
    )


def is_long(info: MediaInfo, plan: Plan, step: Step) -> bool:
    """Return whether a film is so long that losing the work would hurt."""
    if info.frames is None:
        return True
    pixels = info.frames * plan.format.width * plan.format.height
    rate = _RATES.get(step.traits.device_name, _BY_GPU) * together()
    return info.frames / info.rate > LONG or pixels / rate > WORK


def hindrance(info: MediaInfo, plan: Plan, step: Step, output: Output) -> str | None:
    """Return why a film cannot be cut, as the end of a sentence; None: it can, as far as known."""
    if info.path is None:
        return "what comes from a pipe, or from pictures, cannot be read twice"
    if not container(output.suffix).segments:
        return f"the output is no file of {', '.join(suffixes(lambda one: one.segments))}"
    if step.traits.reach is None:
        return "what becomes of a frame may depend on the whole film"
    clip = info.clip
    if info.stretch != 1:
        return "its container has no times"
    if clip.ivtc and clip.start is not None:
        return "cycles of telecine are counted from where decoding begins"
    if clip.frames is not None and (clip.ivtc or clip.deinterlace == "field"):
        return "`frames` counts progressive frames, which are known only after decoding"
    encoder = plan.encoder.traits
    if plan.alpha and (encoder.alpha_beside or traits(encoder_of(info.video.codec)).alpha_beside):
        return "its alpha channel is beside the packets"
    if encoder.frame_clock or of_whole_film(plan.encoder.options):
        return f"{plan.encoder.codec} with these settings needs the whole film"
    return None


def cut(scan: Scan, info: MediaInfo, seconds: int, reach: int = 0) -> tuple[Cut, ...] | str:
    """Return the segments of a film, or why there are none, as the end of a sentence.

    Each lasts `seconds` at least, but the last one; on `reach` frames on each side of a frame its
    results depend.
    """
    if scan.irregular is not None:
        return scan.irregular
    clip, base = info.clip, scan.time_base
    cycle = 1
    if clip.ivtc:
        if not _is_steady(scan.times):
            return "frames do not follow one another at one rate, as cycles of telecine do"
        cycle, reach = CYCLE, ceil(reach * Fraction(CYCLE, CYCLE - 1)) + 1 if reach else 0
    begin = info.zero if clip.start is None else scan.start + clip.start
    left = bisect_left(scan.times, begin / base)
    times = scan.times[left:]
    if info.end is not None:
        times = times[: bisect_left(times, info.end / base)]
    if clip.frames is not None:
        times = times[: clip.frames]
    places, due = [0], False
    for number, time in enumerate(times):
        far = (time - times[places[-1]]) * base >= seconds
        due |= far and time in scan.keys and time * base > scan.start
        if due and (left + number) % cycle == 0:
            places.append(number)
            due = False
    if len(places) < 2:
        return f"it has no key frame at which a segment of {seconds} s or more could end"
    found = []
    for number, (first, last) in enumerate(zip(places, [*places[1:], len(times)], strict=True), 1):
        early, late = max(0, first - reach), last + max(1, reach)
        whole = ((left + early) // cycle - _CYCLES_BEFORE) * cycle
        found.append(
            Cut(
                number=number,
                first=times[early] if number > 1 else None,
                begin=times[first] if number > 1 else None,
                end=times[last] if last < len(times) else None,
                stop=times[late] if late < len(times) else None,
                frames=last - first,
                cycle=scan.times[max(0, whole)] if clip.ivtc else None,
            )
        )
    return tuple(found)


def _is_steady(times: Sequence[int]) -> bool:
    """Return whether all frames are equally far from one another, but for rounding."""
    steps = {after - before for before, after in pairwise(times)}
    return not steps or max(steps) - min(steps) <= 1


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


def planned(scan: Scan, info: MediaInfo, plan: Plan, step: Step) -> Cuts | str:
    """Return how a film is cut, or why it is not, as the end of a sentence."""
    if info.container in _COUNTING and scan.short is not None:
        return "its times count packets, of which some are missing"
    reach = step.traits.reach
    assert reach is not None
    if (reach or info.clip.ivtc or info.clip.frames) and not shows_each_packet(info, scan):
        return "several of its packets make one picture"
    least = SECONDS.get(step.traits.device_name, OTHERWISE)
    seconds = max(least, ceil(LEADING * 2 * reach / info.rate))
    found = cut(scan, info, seconds, reach)
    if isinstance(found, str):
        return found
    threads = chosen() or plan.encoder.traits.threads(cores())
    return Cuts(scan.time_base, scan.start, end_of(scan, info), scan.short, threads, found)


def shows_each_packet(info: MediaInfo, scan: Scan) -> bool:
    """Return whether each packet gives a picture of its time, by the first ones of the film.

    Two fields may have packets of their own. The first packets may give none, as those that refer
    to what the film never held; but cycles of telecine are counted from the first one.
    """
    assert info.path is not None
    with closing(Reader(info.path, info.name, maps=info.clip.map)) as reader:
        frames = (one for one in reader.decode() if isinstance(one, VideoFrame))
        shown = [frame.pts for frame in islice(frames, _LOOKED_AT) if frame.pts is not None]
    at = bisect_left(scan.times, shown[0]) if shown and not info.clip.ivtc else 0
    return shown == list(scan.times[at : at + len(shown)])
