"""Opens an input, describes it, and yields its frames and the packets that are not decoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import BinaryIO, cast

from av.stream import Stream

from snellen.errors import InputError
from snellen.files.containers import Y4M
from snellen.files.opening import InputFile, is_stream, raw
from snellen.process import Home
from snellen.video import animations
from snellen.video.clip import Clip
from snellen.video.ffmpeg import name, start_of
from snellen.video.media import Content, Item, MediaInfo, PictureInfo, SourceReport
from snellen.video.pipes import Incoming
from snellen.video.source import nvdec
from snellen.video.source.damage import first_line, promised_packets, torn_y4m, total_frames
from snellen.video.source.flow import Flow
from snellen.video.source.headers import SER, Depth, Pace, depth_of, pace_of, with_time_code
from snellen.video.source.pictures import FORMAT, Pictures
from snellen.video.source.progressive import Progressive
from snellen.video.source.read import Reader
from snellen.video.source.stream_info import chapters_of

LEAD = Fraction(1)
"""Seconds before a clip's start at which reading begins, for audio that is stored early."""
_FURTHER = 4
"""Where that was too late, as it may be in transport streams, it begins so much further back."""
_UNCERTAIN = 100
"""Where the number of frames is computed from a duration, one in so many may be missing."""


class Source:
    """An open input whose first frame has been decoded: a file, a stream of y4m, or image files.

    `name` is what messages call it. While a thread reads it (`busy`), `close` leaves the container
    open, since closing it under the thread would crash.

    Parameters
    ----------
    lead : Fraction
        Seconds before the clip's start at which reading begins.
    looked, content
        As of `Progressive`: what looking at the film has found before.
    cycle : Fraction, optional
        Seconds of the container's clock at which a cycle of telecine begins; frames before it are
        left out. None: the first one begins with the first frame that is decoded.
    given : PictureInfo, optional
        Description of the film's first frame, where the clip is a later part of a film: the frames
        are watched against it. None: against the clip's own.
    """

    def __init__(
        self,
        source: Path | BinaryIO | Pictures,
        clip: Clip,
        decoder: str = "auto",
        *,
        lead: Fraction = LEAD,
        looked: bool = False,
        content: Content | None = None,
        cycle: Fraction | None = None,
        given: PictureInfo | None = None,
    ) -> None:
        self._lead, self._looked, self._content = lead, looked, content
        self._given, self._cycle = given, cycle
        self._pictures = source if isinstance(source, Pictures) else None
        self.name = source.name if isinstance(source, Pictures) else name(source)
        self.busy, self._home = False, Home("this input")
        self._clip = clip
        self._pipe: InputFile | None = None
        self._file: Path | Incoming
        if isinstance(source, Pictures):
            self._file = Incoming(cast("BinaryIO", source), format=FORMAT, title=source.name)
        elif not isinstance(source, Path):
            self._file = Incoming(source)
        elif is_stream(source):
            self._pipe = InputFile(source)
            self._file = Incoming(self._pipe, format=None, title=str(source))
        else:
            self._file = source
        hardware, notice = nvdec.choose(decoder, self._file, self.name, clip.map)
        self._hardware = hardware
        try:
            seek = True
            while True:
                self._open(seek)
                first = self._first_item()
                if not self._seeked_too_far():
                    break
                self.close()
                self._lead *= _FURTHER
                seek = self._flow.clock.missing == 0
            if first is None:
                raise self._no_frame()
            self._first = first
            self.info = self._describe(notice)
        except BaseException:
            self.close()
            raise

    @property
    def templates(self) -> Mapping[int, Stream]:
        """FFmpeg's streams by index, on which an output models the streams that it copies."""
        return {stream.index: stream for stream in self._reader.container.streams}

    def items(self, alpha: bool = False) -> Iterator[Item]:
        """Yield frames, their times counted from the clip's start, and packets between them.

        The last item has no frame; it carries the packets behind the last frame, and the report.
        `alpha`: whether the frames have their alpha channel, if there is one.
        """
        self._flow.with_alpha = alpha
        first = self._first
        if not alpha and first.frame is not None:
            first = replace(first, frame=replace(first.frame, alpha=None))
        yield first
        last = yield from self._items
        if self._reader.container.format.name == Y4M and not self._flow.cut_short:
            self._reader.damage.short = torn_y4m(self._file, self._flow.picture.format)
        yield replace(last, report=self.report())

    def report(self) -> SourceReport:
        """Return what reading has found so far; complete in the last item."""
        pictures = self._pictures
        return SourceReport(
            (*(pictures.damage() if pictures else ()), *self._reader.damage.describe()),
            self._flow.clock.moved,
            self._flow.variable_rate,
            self._fields.notice,
            (*(pictures.losses() if pictures else ()), *self._reader.damage.complaints.beside()),
            self._flow.transparent,
            self._flow.changes,
        )

    def stop(self) -> None:
        """Let no thread wait any longer for a pipe that gives nothing."""
        if isinstance(self._file, Incoming):
            self._file.stop()

    def close(self) -> None:
        """Close the container; the planes of frames stay valid."""
        if not self.busy and not self._home.keep(self.__dict__):
            if (reader := getattr(self, "_reader", None)) is not None:
                reader.close()
            if self._pipe is not None:
                self._pipe.close()

    # Opening: the first frame gives the pictures' properties and time 0.

    def _open(self, seek: bool) -> None:
        self._reader = Reader(self._file, self.name, self._hardware, self._clip.map)
        base, cycle = self._reader.time_base, self._cycle
        self._pace, depth = self._found_pace(), self._depth()
        stretch = self._pace.stretch
        self._fields = Progressive(
            self._clip, self._reader.stream, base, self._path, self.name, self._looked,
            self._content, None if cycle is None else round(cycle / base),
        )  # fmt: skip
        self._flow = Flow(self._reader, self._fields, self._clip, self._given, stretch, depth)
        first = (self._flow.begin if self._cycle is None else self._cycle) / stretch
        far = first - self._reader.start() > self._lead and self._path is not None
        self._seeked = seek and far and self._reader.seek(first - self._lead)
        self._items = self._flow.items()

    def _depth(self) -> Depth | None:
        """Return the depth that the file states and FFmpeg does not; None: FFmpeg's is right."""
        path, container = self._path, self._reader.container.format.name
        return depth_of(path) if path is not None and container == SER else None

    def _found_pace(self) -> Pace:
        """Return the pace of the film; pictures have the one that they were given."""
        if self._pictures is not None:
            return Pace()
        container, header = self._reader.container, b""
        if container.format.name == Y4M:
            header = first_line(self._file)[0]
        return pace_of(container, self._reader.stream, header, self._clip.fps, self.name)

    def _first_item(self) -> Item | None:
        """Decode up to the first frame of the clip, if any; an interrupt of a pipe ends it."""
        first = next(self._items, None)
        if isinstance(self._file, Incoming):
            self._file.check()
        return first

    def _seeked_too_far(self) -> bool:
        """Return whether seeking missed the clip's start, or frames have no times after it."""
        if not self._seeked:
            return False
        first = self._flow.clock.first
        wanted = self._flow.begin if self._cycle is None else self._cycle
        late = first is None or first * self._flow.time_base > wanted
        return late or self._flow.clock.missing > 0

    def _no_frame(self) -> InputError:
        if self._flow.has_decoded and self._clip.is_part:
            start = self._clip.start or Fraction(0)
            where = f"at or after {float(start):g} s"
            if self._clip.duration is not None:
                where = f"from {float(start):g} s to {float(start + self._clip.duration):g} s"
            cut = "duration" if self._clip.start is None else "start"
            return InputError(f"{self.name} has no frame {where}", parameter=cut)
        why = "; ".join(self._reader.damage.describe())
        return InputError(
            f"{self.name}: not one frame could be decoded" + (f" ({why})" if why else "")
        )

    @property
    def _path(self) -> Path | None:
        return self._file if isinstance(self._file, Path) and self._file.is_file() else None

    def _describe(self, notice: str | None) -> MediaInfo:
        container, stream = self._reader.container, self._reader.stream
        frames = self._total()
        picture = self._flow.picture
        if self._pictures is not None:
            picture = replace(picture, losses=(*picture.losses, *self._pictures.lost))
        if self._pace.loss is not None:
            picture = replace(picture, losses=(self._pace.loss, *picture.losses))
        return MediaInfo(
            name=self.name,
            path=self._path,
            container=container.format.name,
            tags=dict(container.metadata),
            start=start_of(container),
            streams=with_time_code(container, stream, self._path),
            video_index=stream.index,
            chapters=chapters_of(container),
            picture=picture,
            time_base=self._flow.time_base,
            rate=self._flow.rate,
            clip=self._clip,
            zero=self._flow.zero,
            end=self._flow.end,
            frames=frames,
            least_frames=self._least(frames or 0),
            decoder="nvdec" if self._hardware else "cpu",
            decoder_notice=notice,
            decoded=picture,
            notices=() if (cut := self._flow.cropper.notice) is None else (cut,),
            fields_notice=self._fields.notice,
            content=self._fields.content,
            stretch=self._pace.stretch,
            made_progressive=self._fields.label if self._fields.filtered else None,
            plays=self._plays(container.format.name),
        )

    def _plays(self, container: str) -> int | None:
        if container not in animations.CONTAINERS:
            return None
        if isinstance(self._file, Incoming):
            return animations.plays(BytesIO(self._file.head), container)
        with closing(raw(self._file)) as file:
            return animations.plays(BytesIO(file.read(animations.HEAD) or b""), container)

    def _total(self) -> int | None:
        """Return how many frames to expect in the clip; None: unknown."""
        clip = self._clip
        total = total_frames(self._reader.container, self._reader.stream, self._reader.rate)
        if self._pictures is not None:
            total = self._pictures.count
        if total is not None:
            total = ceil(total * self._fields.rate)
            if clip.start is not None:
                total = max(1, total - int(clip.start * self._flow.rate))
        limits = [total, clip.frames]
        if clip.duration is not None:
            limits.append(max(1, round(clip.duration * self._flow.rate)))
        return min((one for one in limits if one is not None), default=None)

    def _least(self, total: int) -> int:
        """Return how many of `total` frames will come for certain."""
        cut = self._clip.start is not None or self._clip.duration is not None
        promised = promised_packets(self._reader.container, self._reader.stream)
        exact = not cut and promised is not None and self._fields.rate == 1
        return total if exact else total - total // _UNCERTAIN
