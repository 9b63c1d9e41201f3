"""What FFmpeg and Pillow say of a file by themselves, in a process that may crash."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

_SOUND = ("aac", "mp2", "mp3", "flac", "pcm", "ac3", "vorbis", "opus")
"""Decoders of sound: Snellen copies sound as it is."""
_SHORT = 10 * 204
"""Bytes of a transport stream below which FFmpeg takes it for anything else, though it is whole."""


def decoded(path: str) -> dict:
    """Return frames, times, size and error messages of a film or picture."""
    import av
    from PIL import Image

    logging.disable(logging.CRITICAL)  # PyAV's Python logger; the messages are captured below
    av.logging.set_level(av.logging.ERROR)
    av.logging.set_skip_repeated(False)
    if path.lower().endswith((".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".ppm",
                              ".pgm", ".pnm", ".avif", ".jp2", ".j2k")):  # fmt: skip
        try:
            with warnings.catch_warnings(), Image.open(path) as image:
                warnings.simplefilter("ignore")
                image.load()
                return {"frames": 1, "size": image.size, "errors": [], "times": []}
        except Exception as error:
            if (size := _deep(path)) is not None:
                return {"frames": 1, "size": size, "errors": [], "times": []}
            return {"frames": 0, "size": (0, 0), "errors": [repr(error)], "times": []}
    times: list[float | None] = []
    cut = path.endswith((".ts", ".mpg"))  # these may begin anywhere, as broadcasts do
    size, others = (0, 0), set()
    # PyAV 19 decodes all tags somehow.
    how = {"metadata_errors": "replace"} if av.__version__ < "19" else {}
    with av.logging.Capture(local=False) as said:
        try:
            with (
                Path(path).open("rb") as file,
                av.open(file, format=_format(path), **how) as container,
            ):
                cut |= container.format.name in ("mpeg", "mpegts")
                video = container.streams.video[0]
                decoders = [one.codec_context for one in container.streams if one.codec_context]
                others = {one.name for one in decoders} - {video.codec_context.name}
                for packet in container.demux(video):
                    try:
                        for frame in packet.decode():
                            if cut and not times:
                                said.clear()
                            times.append(frame.time)
                            size = frame.width, frame.height
                    except av.FFmpegError as error:
                        said.append((av.logging.ERROR, "decode", str(error)))
        except av.FFmpegError as error:
            said.append((av.logging.ERROR, "open", repr(error)))
        except (UnicodeDecodeError, OSError):  # PyAV's: a tag or a codec's name; a seek beyond all
            said.clear()
    # Other streams are copied as they are.
    errors = [
        f"{name}: {text.strip()}"
        for level, name, text in said
        if level <= av.logging.ERROR and not name.startswith(_SOUND) and name not in others
    ]
    return {"frames": len(times), "size": size, "errors": errors[:20], "times": times}


def _format(path: str) -> str | None:
    """Return FFmpeg's name of a transport stream that is too short for it to know by itself."""
    return "mpegts" if path.endswith(".ts") and Path(path).stat().st_size < _SHORT else None


def _deep(path: str) -> tuple[int, int] | None:
    """Return the size of a TIFF file with samples that Pillow does not know, by our reader."""
    from snellen.frames import tiff_kinds
    from snellen.stills import tiff

    try:
        with Path(path).open("rb") as file:
            tags = tiff.directory(file)
            if tags is None or not tiff_kinds.kind_of(tags).is_ours:
                return None
            height, width, _ = tiff.read(file, tiff.layout(tags)).shape
            return width, height
    except Exception:
        return None
