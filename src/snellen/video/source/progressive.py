"""Makes progressive frames of what a decoder gives: as it is, deinterlaced, or out of telecine."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from pathlib import Path

from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.errors import InputError
from snellen.video import pixels
from snellen.video.clip import Clip
from snellen.video.filtering.graph import FilterGraph
from snellen.video.media import Content
from snellen.video.source.content import (
    INTERLACED,
    PROGRESSIVE,
    TELECINED,
    UNCERTAIN,
    content_of,
    unmarked_content,
)
from snellen.video.source.filters import CYCLE, deinterlacing, graph_of, inverse_telecine
from snellen.video.source.stream_info import is_interlaced, rate_of

_TICKS = {"field": 2}
"""Into how many ticks a tick of the decoder's times is divided, by `Clip.deinterlace`."""
_LEFT = (
    "`deinterlace` left it as it is; where that is wrong, `interlaced`=top or bottom says which "
    "field is first"
)

Timed = tuple[VideoFrame, int | None]
"""A frame with its time in ticks; None: it has no time."""


class Progressive:
    """Takes decoded frames and gives progressive ones.

    Whether frames are interlaced is decided once, at the first one that is marked so: by content,
    where the film can be opened once more. A film without marks is looked at, too, where it could
    be interlaced all the same, or `deinterlace` says that it is.

    Parameters
    ----------
    path : Path or None
        The film, `what` in messages, if it can be opened once more.
    looked : bool
        Whether a film without marks has been looked at before: `content` is what was found, or it
        is progressive.
    since : int, optional
        Time of the first frame that is taken, in ticks of `time_base`; those before are left out.

    Attributes
    ----------
    ticks : int
        Into how many ticks the times of results divide a tick of the given frames' times.
    rate : Fraction
        Results for each frame; known after the first frame.
    notice : str or None
        What was decided against the marks of the frames, or that there are none.
    content : Content or None
        What a close look at the film has found; None: there was none.
    """

    def __init__(
        self,
        clip: Clip,
        stream: VideoStream,
        time_base: Fraction,
        path: Path | None,
        what: str,
        looked: bool = False,
        content: Content | None = None,
        since: int | None = None,
    ) -> None:
        self._clip, self._stream, self._path, self._what = clip, stream, path, what
        self.ticks = CYCLE - 1 if clip.ivtc else _TICKS.get(str(clip.deinterlace), 1)
        self.rate = Fraction(1)
        self.notice: str | None = None
        self._time_base = time_base
        self._graph: FilterGraph | None = None
        self._times: _TelecineTimes | None = None
        self._decided = clip.interlaced == "ignore"
        self.content, self._since = content, since
        self._looked = looked and not (clip.deinterlace and content is not None)

    @property
    def filtered(self) -> bool:
        """Return whether frames go through filters."""
        return self._graph is not None

    @property
    def label(self) -> str:
        """Return the name of these filters in a printed chain."""
        if self._clip.ivtc:
            return "ivtc"
        return "deinterlace" + (" field" if self._clip.deinterlace == "field" else "")

    def push(self, frame: VideoFrame | None, step: Fraction) -> list[Timed]:
        """Take a frame (None: there are no more); return those that are ready.

        `step` is the usual distance of two results, in their ticks.
        """
        if frame is not None and self._since is not None and (frame.pts or 0) < self._since:
            return []
        if frame is not None and not self._decided:
            self._decide(frame)
        if self._graph is None:
            if frame is None:
                if self._clip.deinterlace and not self._decided and self.notice is None:
                    self.notice = f"no picture is marked as interlaced: {_LEFT}"
                return []
            return [(frame, None if frame.pts is None else frame.pts * self.ticks)]
        if self._times is None:
            return self._graph.push(frame)
        if frame is not None:
            self._times.add(frame.pts)
        return [(one, self._times.take(step)) for one, _ in self._graph.push(frame)]

    def _decide(self, frame: VideoFrame) -> None:
        """Set up the filters at the first interlaced frame; InputError: it cannot be used so."""
        clip = self._clip
        forced = clip.interlaced in ("top", "bottom")
        marked = is_interlaced(self._stream, frame)
        content = first = None
        if forced:
            first = clip.interlaced
        elif not (marked or clip.ivtc):
            content = self._unmarked(frame)
            if content is None or not clip.deinterlace:
                return
            first = content.first
        elif self._path is not None:
            content = self._look(self._path)
        self._decided, self.notice = True, None
        if clip.ivtc:
            self._undo_telecine(frame, content)
            return
        if content is not None and content.kind == PROGRESSIVE:
            self.notice = (
                f"it is marked as interlaced, but its pictures are progressive ({content}): each "
                "is taken as it is"
            )
            return
        if not clip.deinterlace:
            raise self._refused(content)
        per_field = clip.deinterlace == "field"
        filters = deinterlacing(self._stream, frame, first, per_field)
        self._graph = graph_of(
            filters, self._stream, frame, self._time_base, self._time_base / self.ticks
        )
        self.rate = Fraction(self.ticks)
        if content is not None and content.kind == TELECINED:
            self.notice = (
                "it is telecined film: `ivtc` would restore the film's own frames, without loss"
            )

    def _look(self, path: Path) -> Content:
        """Return what the film's content is; look at it once."""
        if self.content is None:
            self.content = content_of(path, self._what, self._clip.map)
        return self.content

    def _unmarked(self, frame: VideoFrame) -> Content | None:
        """Return the content of a film without marks if it is interlaced; else None."""
        if self._looked or self._path is None:
            return None
        self._looked = True
        if self._clip.deinterlace:
            content = self._look(self._path)
            if content.kind in (INTERLACED, TELECINED):
                return content
            seen = f"does not look so ({content})" if content.kind == PROGRESSIVE else str(content)
            self.notice = f"it is not marked as interlaced, and {seen}: {_LEFT}"
            return None
        rate, maps = rate_of(self._stream), self._clip.map
        found = unmarked_content(self._path, self._what, frame.height, rate, maps)
        if found is None or found.kind not in (INTERLACED, TELECINED):
            return None
        better = "`ivtc`" if found.kind == TELECINED else "`deinterlace`"
        self.notice = (
            f"it is not marked as interlaced, but looks {found.kind} ({found}): {better} makes "
            "progressive frames first; where it is not so, say `interlaced`=ignore"
        )
        return found

    def _undo_telecine(self, frame: VideoFrame, content: Content | None) -> None:
        if content is not None and content.kind not in (TELECINED, UNCERTAIN):
            raise InputError(
                f"{self._what} is not telecined: {content}, and no cycle of repeated fields",
                parameter="ivtc",
                advice="leave it out, or say by `interlaced` which field is first: top or bottom",
            )
        if pixels.parse(frame.format.name).bits > 8:
            raise InputError(
                f"{self._what} has samples of more than 8 bits, which FFmpeg's fieldmatch does "
                "not take",
                parameter="ivtc",
                advice="`deinterlace` does",
            )
        first = None if self._clip.interlaced == "auto" else self._clip.interlaced
        if first is None and content is not None and not is_interlaced(self._stream, frame):
            first = content.first
        filters = inverse_telecine(self._stream, frame, first)
        self._graph = graph_of(filters, self._stream, frame, self._time_base)
        self._times = _TelecineTimes(self.ticks)
        self.rate = Fraction(CYCLE - 1, CYCLE)

    def _refused(self, content: Content | None) -> InputError:
        if content is not None and content.kind == TELECINED:
            return InputError(
                f"{self._what} is telecined: film at 24 frames a second, spread over the fields "
                "of interlaced pictures",
                parameter="ivtc",
                advice="`ivtc` restores the film's frames",
            )
        if self._clip.interlaced != "auto":
            return InputError(
                f"`interlaced`={self._clip.interlaced} says that each frame of {self._what} holds "
                "two moments, which would be blended for good",
                parameter="interlaced",
                advice="`deinterlace` beside it makes progressive frames first",
            )
        if content is None:  # a pipe
            found = "is marked as interlaced, and"
        elif content.kind == UNCERTAIN:
            found = f"is marked as interlaced, and {content}; if it is,"
        else:
            found = "is interlaced:"
        return InputError(
            f"{self._what} {found} each frame holds two moments, which would be blended for good",
            parameter="deinterlace",
            advice="`deinterlace` makes progressive frames first; where it is not so, say "
            "`interlaced`=ignore",
        )


class _TelecineTimes:
    """Times of what is left of cycles of five frames, of which FFmpeg's decimate drops one.

    The filter counts from the first frame on, and would lose the sound after a gap.
    """

    def __init__(self, ticks: int) -> None:
        self._ticks = ticks
        self._given: deque[int | None] = deque()
        self._place = 0

    def add(self, time: int | None) -> None:
        self._given.append(time)

    def take(self, step: Fraction) -> int | None:
        """Return the time of the next frame that is left; they divide their cycle equally."""
        kept = CYCLE - 1
        begin = self._given[0] if self._given else None
        end = self._given[CYCLE] if len(self._given) > CYCLE else None
        place, self._place = self._place, (self._place + 1) % kept
        if begin is not None and end is not None and end > begin:
            step = Fraction((end - begin) * self._ticks, kept)
        if self._place == 0:
            for _ in range(min(CYCLE, len(self._given))):
                self._given.popleft()
        return None if begin is None else begin * self._ticks + round(place * step)
