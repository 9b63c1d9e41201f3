"""Encodes frames, and muxes them with the streams that are copied."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

import av
from av.packet import Packet

from snellen.process import Home
from snellen.video.media import Item, MediaInfo
from snellen.video.passthrough.streams import Copier
from snellen.video.passthrough.tags import chapters, container_tags
from snellen.video.sink.aspect import AspectWriter
from snellen.video.sink.encode import Plan, add_video, open_container
from snellen.video.sink.frames import FrameEncoder

_REFUSALS = (av.ArgumentError, av.InvalidDataError, av.PatchWelcomeError)
"""Errors with which muxers reject single packets; a full disk never gives these."""
_MAX_REFUSED = 50
"""More refused packets than this are not the input's fault, and end the work."""


class Sink:
    """An open output; takes items from one thread at a time.

    Parameters
    ----------
    file : Path or BinaryIO
    muxer : str
        FFmpeg's name of the container.
    plan : Plan
        Of the video stream.
    info : MediaInfo
        Of the input, for tags and chapters.
    copier : Copier
        Of the other streams.
    threads : int
        As of `encode.add_video`.

    Attributes
    ----------
    written : int
        Frames given to the encoder so far.
    refused : int
        Packets so far that the muxer did not take.
    damage : tuple of str
        What was damaged in streams that were encoded anew; complete when `finish` returns.
    """

    def __init__(
        self,
        file: Path | BinaryIO,
        muxer: str,
        plan: Plan,
        info: MediaInfo,
        copier: Copier,
        threads: int = 0,
    ) -> None:
        self._home = Home("this output")
        self._plan = plan
        self._copier = copier
        self.written = 0
        self.refused = 0
        self.damage: tuple[str, ...] = ()
        self._header = AspectWriter(file, muxer, plan.format, plan.picture.sample_aspect_ratio)
        try:
            self._out = open_container(
                self._header.target, muxer, plan.time_base, copier.suffix, info.plays
            )
            self._stream = add_video(self._out, plan, copier.suffix, threads)
            self._encoder = FrameEncoder(self._stream, plan)
            copier.attach(self._out)
            self._out.metadata.update(container_tags(info))
            found = chapters(info, _expected_end(info))
            if found:
                self._out.set_chapters(found)
            self._out.start_encoding()
            self._mux(copier.start())
        except BaseException:
            self.abandon()
            raise

    def write(self, item: Item) -> None:
        """Encode the item's frame; keep its packets until their time."""
        if item.clip_end is not None:
            self._copier.end = item.clip_end
        for packet in item.packets:
            self._copier.offer(packet)
        if item.frame is None:
            return
        self._mux_video(self._encoder.encode(item.frame))
        self.written += 1

    def finish(self) -> None:
        """Write what encoder and copier still hold, and close the container."""
        self._mux_video(self._encoder.flush())
        self._end()

    def _end(self) -> None:
        """Write the rest of the other streams, and close the container."""
        self._mux(self._copier.due(None))
        self.refused += self._copier.failed
        self.damage = self._copier.damage()
        self._copier.close()
        self._out.close()
        self._header.finish()

    def abandon(self) -> None:
        """Close the container; its contents are incomplete."""
        if self._home.keep(self.__dict__):
            return  # closing it would write into the parent's file
        self._copier.close()
        with contextlib.suppress(Exception):
            self._out.close()
        with contextlib.suppress(OSError):
            self._header.close()

    def _mux_video(self, packets: Iterable[Packet[Any]]) -> None:
        for packet in packets:
            self._mux_timed(packet)

    def _mux_timed(self, packet: Packet[Any]) -> None:
        """Mux a packet of the video, and before it those of other streams that are due."""
        stamp = packet.dts if packet.dts is not None else packet.pts
        if stamp is not None and self._copier.waits:
            self._mux(self._copier.due(stamp * self._plan.time_base))
        self._mux([packet])

    def _mux(self, packets: Iterable[Packet[Any]]) -> None:
        for packet in packets:
            try:
                self._out.mux(packet)
            except _REFUSALS:
                # E.g. damaged audio that the muxer parses: only that packet is lost.
                self.refused += 1
                if self.refused > _MAX_REFUSED or not self._copier.copies:
                    raise


def _expected_end(info: MediaInfo) -> Fraction | None:
    """Return where the clip ends, in seconds of the container's clock; None: with the input."""
    if info.end is None and info.clip.frames is not None and info.frames is not None:
        return info.zero + info.frames / info.rate
    return info.end
