"""Decoding with NVDEC, after a probe that decodes a frame with it.

Experimental: it has not been run on hardware. Without NVDEC the probe fails and the CPU decodes.
PyAV copies NVDEC's frames to host memory, where the pipeline expects them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import av
from av.codec.hwaccel import HWAccel
from av.video.stream import VideoStream

from snellen.errors import InputError
from snellen.video import pixels
from snellen.video.clip import DECODERS
from snellen.video.ffmpeg import reason
from snellen.video.logs import logs
from snellen.video.opening import open_path, video_of
from snellen.video.pipes import Incoming


def choose(
    decoder: str, file: Path | Incoming, what: str, maps: Sequence[str] = ()
) -> tuple[bool, str | None]:
    """Return whether NVDEC is to decode, and a warning where that was requested and does not work.

    `decoder` is one of DECODERS, `what` the input's name in messages, `maps` as of `choose_stream`.
    """
    if decoder not in DECODERS:
        raise InputError(
            f"got `decoder`={decoder}; expected one of {', '.join(DECODERS)}", parameter="decoder"
        )
    if decoder != "nvdec":
        # "auto" is the CPU: frame threads decode HD several times faster than it is enlarged
        # (720p at 2,400 frames/s on the machine measured), and PyAV copies NVDEC's frames to
        # host memory while it holds the interpreter's lock.
        return False, None
    why = probe(file, what, maps)
    if why is None:
        return True, None
    return False, f"NVDEC does not work here ({why}): the CPU decodes instead"


def settings(fall_back: bool) -> HWAccel:
    """Return the hwaccel argument of av.open for NVDEC.

    `fall_back`: whether a frame that the hardware refuses is decoded in software. That covers
    neither a missing driver nor a missing device: then opening fails.
    """
    return HWAccel("cuda", allow_software_fallback=fall_back)


def prepare(stream: VideoStream) -> None:
    """Set up the decoder of an opened stream.

    It uses one thread: each would keep surfaces of its own, of which NVDEC has 32 at most.
    """
    stream.codec_context.thread_count = 1


def probe(file: Path | Incoming, what: str, maps: Sequence[str] = ()) -> str | None:
    """Decode the first frame with NVDEC; return why that does not work; None: it does."""
    if isinstance(file, Incoming):
        return "a stream can be read only once"
    with video_of(file, what, maps) as (_, stream):
        index, software = stream.index, stream.codec_context.pix_fmt
        codec = stream.codec_context.codec.canonical_name
    decoded, why = _first_format(file, index)
    if decoded is None:
        return why or f"no hardware decoder for {codec} in this FFmpeg"
    return mismatch(decoded, software)


def _first_format(file: Path, index: int) -> tuple[str | None, str | None]:
    """Return the pixel format of NVDEC's first frame, or FFmpeg's message."""
    texts: list[str] = []
    with logs.listening(av.logging.ERROR) as messages:
        try:
            with open_path(file, settings(fall_back=False)) as container:
                stream: Any = container.streams[index]
                if not stream.codec_context.is_hwaccel:
                    return None, None
                prepare(stream)
                return str(next(container.decode(stream)).format.name), None
        except StopIteration:
            texts = ["no frame was decoded"]
        except (av.FFmpegError, OSError, ValueError) as error:
            texts = [reason(error)]
        except RuntimeError:
            return None, None  # PyAV: no stream has a decoder with hardware behind it
    texts = [text.strip() for _, _, text in messages] or texts
    return None, texts[0]


def mismatch(decoded: str, software: str | None) -> str | None:
    """Return how NVDEC's frames differ from those of the CPU; None: they hold the same samples.

    For 12 bits, and for 4:4:4 with more than 8, it gives 16-bit words without their depth.
    """
    if software is None:
        return "the stream does not state its pixel format"
    got, expected = pixels.parse(decoded), pixels.parse(software)
    if (got.bits, got.subsampling) == (expected.bits, expected.subsampling):
        return None
    return f"it gives {decoded} for {software}"
