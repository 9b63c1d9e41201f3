"""A decoder may still hold packets that refer to what was before a cut."""

from __future__ import annotations

from collections import deque
from typing import Any

from av.packet import Packet

_ANYWHERE = ("mpegts", "mpeg", "h264", "hevc", "mpegvideo", "m4v", "rawvideo")
"""Containers, or none at all, that can be cut at any byte."""
_REMEMBERED = 600
"""Packets whose times are remembered."""


class Start:
    """Follows the packets of the video from the beginning, or from where reading was resumed.

    Parameters
    ----------
    container : str
        FFmpeg's name.

    Attributes
    ----------
    cut : bool
        Whether the video may begin anywhere, in a group of pictures whose beginning is not there.
    """

    def __init__(self, container: str) -> None:
        self.cut = container in _ANYWHERE
        self._sent = 0
        self._key: int | None = None
        self._last = 0
        self._headless = 0
        self._times: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)

    def send(self, packet: Packet[Any]) -> int:
        """Note a packet that the decoder gets; return its number, from 1."""
        self._sent += 1
        if packet.pts is not None:
            self._times.append((packet.pts, self._sent))
        if self._key is None:
            if packet.is_keyframe:
                self._key = packet.pts if packet.pts is not None else -(1 << 62)
                if self._sent == 1:
                    return 1
                self._headless = self._sent - 1
            self._last = self._sent
        elif packet.pts is not None and packet.pts < self._key:
            self._last = self._sent  # shown before the key frame: it may refer to what is cut off
        return self._sent

    def headless(self, earliest: int) -> int:
        """Return how many packets before the first key frame gave nothing, by the first time shown.

        A file that can be cut anywhere may begin with such packets; in others they are damaged.
        """
        lost = not self.cut and self._key is not None and earliest >= self._key
        return self._headless if lost else 0

    def leading(self, threads: int) -> bool:
        """Return whether a message may be about such a packet; `threads` are in the decoder."""
        return self.cut and self._last > 0 and self._sent <= self._last + threads

    def number(self, ticks: int) -> int:
        """Return the number of the packet with this time; if unknown: of the next one to come."""
        return next((n for pts, n in self._times if pts == ticks), self._sent)
