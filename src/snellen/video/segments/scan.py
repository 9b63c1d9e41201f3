"""Reads all packets of a film without decoding them: its times, and where it can be cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

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
    """Read the packets of a file.

    Parameters
    ----------
    path : Path
    maps : sequence of str
        As of `ffmpeg.choose_stream`.
    """
    reader = Reader(path, str(path), maps=maps)
    try:
        times: list[int] = []
        keys: set[int] = set()
        why = None
        decoded: int | None = None
        count = 0
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
    finally:
        reader.close()
