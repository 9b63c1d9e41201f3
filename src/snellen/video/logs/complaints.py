"""Which of FFmpeg's messages mean damage, and what is said of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import av.logging

from snellen.video.logs.logs import Message
from snellen.video.messages import counted

_HARMLESS = re.compile(
    r"edit list|out of order|not implemented|patch welcome|non monotonically"
    r"|Could not find codec parameters|co located POCs unavailable|[Uu]nsupported"
    r"|unknown(?! stream)|hardware|hwaccel|deprecated|Cannot load|Discarding interleaved"
    r"|Failed to parse extradata",
)
"""Errors that sound files give as well."""
_PACKET = re.compile(r"Packet corrupt \(stream = (\d+), dts = (-?\d+)\)")
"""The message about a packet that is marked as damaged."""
_VISIBLE = re.compile(
    r"concealing|corrupt|damaged|error while decoding|error at MB|CRC|[Cc]hecksum|missing reference"
    r"|overread|EOI missing|[Ii]nvalid (?:data|marker|slice|frame|code)|truncat(?!ed DV)"
    r"|Packet mismatch|incomplete|Broken frame|broken|Slice mismatch"
    r"|slice end not reached|lost|sync"
)
"""Warnings that damage gives."""
_SIZES = "IMGUTILS"
"""Under this name FFmpeg refuses a size of pictures, as a container's damaged header states it."""
_BESIDE = re.compile(
    r"[Tt]ime ?code|[Dd]rop frame|[Mm]etadata(?! block CRC)|[Cc]hapter|[Ss]ide data|display matrix"
    r"|[Mm]astering|[Ll]ight level|[Ss]pherical|[Ss]tereo(?:scopic)? ?(?:3[Dd]|video|flag|mode)"
    r"|DOVI|Dolby|\bICC\b|ID3|APE [Tt]ag|XMP|creation.time|[Cc]over|attachment|attached picture"
    r"|binary tag|in tag|tag version|[Ll]anguage",
)
"""Messages of demuxers about tags and descriptions of the pictures, which are whole."""
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|[0-9]+")

_KINDS = 3
"""Kinds of messages of which a sentence gives an example."""
_MOST = 1000
"""Kinds of messages that are told apart."""
_LENGTH = 90
"""Characters of an example."""

_Kind = tuple[str, str, str]
"""Whose message, "error" or "warning", and the text without its numbers."""


class Complaints:
    """Counts FFmpeg's messages about damage of what was read.

    `demuxer` is FFmpeg's name of the container; `codecs` are the names under which the decoder and
    the parser of the video log; `at` is the number of the video packet that was sent last.
    """

    def __init__(self, demuxer: str, codecs: set[str]) -> None:
        self.at = 0
        self._demuxer = demuxer
        self._codecs = codecs
        self._counts: Counter[tuple[_Kind, int]] = Counter()
        self._examples: dict[_Kind, str] = {}
        self._of_packets: dict[tuple[int, int], list[tuple[_Kind, int]]] = {}
        self._beside: dict[str, None] = {}

    def hear(self, messages: Iterable[Message], opening: bool = False, lead: bool = False) -> None:
        """Count those messages that mean damage.

        `opening`: the container is being opened; what a decoder says then, it will say again.
        `lead`: pictures may be in the decoder that refer to some before a cut.
        """
        for level, name, text in messages:
            whose = self._whose(name)
            if whose is None or (opening and whose != self._demuxer_name):
                continue
            if level > av.logging.ERROR and not _VISIBLE.search(text):
                continue
            if _HARMLESS.search(text) or (lead and whose != self._demuxer_name):
                continue
            if whose == self._demuxer_name and _BESIDE.search(text):
                if len(self._beside) < _KINDS:
                    self._beside[_example(text)] = None
                continue
            what = self._count(whose, "error" if level <= av.logging.ERROR else "warning", text)
            if (packet := _PACKET.search(text)) is not None:
                self._of_packets.setdefault((int(packet[1]), int(packet[2])), []).append(what)

    def excuse(self, stream: int, times: Iterable[int]) -> None:
        """Discard what was heard of packets that are whole, although they are marked as damaged."""
        for time in times:
            for what in self._of_packets.pop((stream, time), ()):
                self._counts[what] -= 1
        self._counts = +self._counts

    def forget(self, before: int) -> None:
        """Discard what was heard before packet `before` was sent."""
        self._counts = Counter({k: n for k, n in self._counts.items() if k[1] >= before})

    def sentences(self) -> tuple[str, ...]:
        """Return a sentence for the demuxer and for the decoder, if they had complaints."""
        kinds: Counter[_Kind] = Counter()
        for (kind, _), number in self._counts.items():
            kinds[kind] += number
        found = []
        for whose, severity in dict.fromkeys((kind[0], kind[1]) for kind in kinds):
            mine = [(k, n) for k, n in kinds.most_common() if k[:2] == (whose, severity)]
            texts = [self._examples[kind] for kind, _ in mine[:_KINDS] if self._examples[kind]]
            more = len(mine) - _KINDS
            if more > 0:
                texts.append(f"and {counted(more, 'other message')}")
            total = counted(sum(number for _, number in mine), severity)
            found.append(f"{total} of the {whose}" + (f" ({'; '.join(texts)})" if texts else ""))
        return tuple(found)

    def beside(self) -> tuple[str, ...]:
        """Return a sentence about tags and side data that the demuxer did not take, or none."""
        if not self._beside:
            return ()
        return (
            "tags or side data of the input, which the "
            f"{self._demuxer_name} does not take: {'; '.join(self._beside)}",
        )

    @property
    def _demuxer_name(self) -> str:
        return f"{self._demuxer.partition(',')[0]} demuxer"

    def _whose(self, name: str) -> str | None:
        if name in self._codecs:
            return f"{name} decoder"
        return self._demuxer_name if name in (self._demuxer, _SIZES, "") else None

    def _count(self, whose: str, severity: str, text: str) -> tuple[_Kind, int]:
        """Count a message; return under what."""
        example = _example(text)
        kind = (whose, severity, _NUMBERS.sub("#", example))
        if kind not in self._examples and len(self._examples) >= _MOST:
            kind = (whose, severity, "")
        self._examples.setdefault(kind, example if kind[2] else "")
        self._counts[kind, self.at] += 1
        return kind, self.at


def _example(text: str) -> str:
    example = "".join(c if c.isprintable() else "?" for c in text.strip())
    return example if len(example) <= _LENGTH else example[: _LENGTH - 1] + "…"
