"""NVIDIA's decoder, thin, behind a probe that really decodes with it.

It has not been run on hardware: without NVDEC the probe says no and the CPU decodes. PyAV copies
NVDEC's pictures back to host memory, where the road expects them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
from av.codec.hwaccel import HWAccel
from av.video.stream import VideoStream

from snellen.errors import InputError
from snellen.video import logs, pixels
from snellen.video.pipes import Incoming
from snellen.video.source.open import choose_stream, open_file, open_input, reason

DECODERS = ("auto", "cpu", "nvdec")


def wanted(decoder: str, place: Path | Incoming, what: str) -> tuple[bool, str | None]:
    """Return whether NVDEC is to decode, and a line for the user where it was to and cannot.

    Parameters
    ----------
    decoder : "auto", "cpu" or "nvdec"
    place : the input
    what : what to call it in messages
    """
    if decoder not in DECODERS:
        raise InputError(f"no decoder {decoder!r}; there are {', '.join(DECODERS)}")
    if decoder != "nvdec":
        # auto is the CPU: frame threads decode HD several times faster than A+ enlarges it (720p
        # at 2,400 frames/s on the machine measured), and NVDEC's pictures take a detour through
        # host memory, copied while PyAV holds the interpreter.
        return False, None
    why = fails(place, what)
    if why is None:
        return True, None
    return False, f"NVDEC does not work here ({why}): the CPU decodes instead"


def settings(fall_back: bool) -> HWAccel:
    """Return what av.open is to be told for NVDEC.

    `fall_back`: whether a picture that the hardware refuses is decoded in software. That covers
    neither a missing driver nor a missing device: opening fails.
    """
    return HWAccel("cuda", allow_software_fallback=fall_back)


def prepare(stream: VideoStream) -> None:
    """Set up the decoder of an opened stream.

    One thread: each would keep surfaces of its own, of which NVDEC has 32 at most.
    """
    stream.codec_context.thread_count = 1


def fails(place: Path | Incoming, what: str) -> str | None:
    """Decode the first picture with NVDEC; return why that does not work, None: it does."""
    if isinstance(place, Incoming):
        return "y4m from a stream is not compressed"
    with open_input(place) as container:
        stream = choose_stream(container, what)
        index, software = stream.index, stream.codec_context.pix_fmt
        codec = stream.codec_context.codec.canonical_name
    picture, why = _first(place, index)
    if picture is None:
        return why or f"no hardware decoder for {codec} in this FFmpeg"
    return unlike(picture, software)


def _first(place: Path, index: int) -> tuple[str | None, str | None]:
    """Return the pixel format of the first picture that NVDEC gives, or FFmpeg's words."""
    said: list[str] = []
    with logs.listening(av.logging.ERROR) as messages:
        try:
            with open_file(place, settings(fall_back=False)) as container:
                stream: Any = container.streams[index]
                if not stream.codec_context.is_hwaccel:
                    return None, None
                prepare(stream)
                return str(next(container.decode(stream)).format.name), None
        except StopIteration:
            said = ["not one picture came"]
        except (av.FFmpegError, OSError, ValueError) as error:
            said = [reason(error)]
        except RuntimeError:
            return None, None  # PyAV: no stream has a decoder with hardware behind it
    said = [text.strip() for _, _, text in messages] or said
    return None, said[0]


def unlike(picture: str, software: str | None) -> str | None:
    """Return how NVDEC's pictures differ from those of the CPU; None: the same samples.

    Of 12 bits, and of 4:4:4 with more than 8, it gives words of 16 that do not say how many count.
    """
    if software is None:
        return "the stream does not say what its pictures are"
    given, meant = pixels.describe(picture), pixels.describe(software)
    if (given.bits, given.subsampling) == (meant.bits, meant.subsampling):
        return None
    return f"it gives {picture} for {software}"
