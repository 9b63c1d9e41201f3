"""Films as image files, one for each frame, with numbers in their names."""

from __future__ import annotations

from contextvars import copy_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError, OutputError
from snellen.files.numbering import numbered
from snellen.files.still_formats import FORMATS
from snellen.frames.coding import NUMBERS
from snellen.frames.frame import Format, Frame
from snellen.stills import still
from snellen.video import pixels
from snellen.video.ffmpeg import FULL_RANGE, UNSPECIFIED
from snellen.video.media import Item, MediaInfo, PictureInfo
from snellen.video.passthrough.tags import container_tags
from snellen.video.side_data import HDR_TRANSFERS
from snellen.video.sink.colour import guessed
from snellen.video.sink.encode import Plan
from snellen.video.sink.encoding import COLOURS, Encoder, Encoding

_MATRICES = (1, 5, 6, 9)
"""AVCOL_SPC of BT.709, BT.601 (twice) and BT.2020; pictures of others are converted by a guess."""
_WHITE = 65535
_TRANSPARENT = (".webp",)
"""Animations that hold transparency."""


def encoder(info: MediaInfo, encoding: Encoding, suffix: str, alpha: bool = False) -> Encoder:
    """Return what stands for the encoder: the depth of the pictures, and what they lose.

    InputError: a setting that only films have.
    """
    given = [
        one for one in ("codec", "preset", "crf", "pix_fmt") if getattr(encoding, one) is not None
    ]
    for name in (*given, *(["encoder_options"] if encoding.options else [])):
        raise InputError(
            f"got `{name}`, which pictures ({suffix}) do not have",
            parameter=name,
            advice="leave them out" if name == "encoder_options" else "leave it out",
        )
    form = info.picture.format
    holds = FORMATS.get(suffix)  # None: an animation
    deep = form.bits > 8 and holds is not None and holds.deep
    losses = []
    if form.bits > 8 and not deep:
        losses.append(f"{form.bits} bit samples are rounded to 8 bit ({suffix})")
    if form.subsampling is not None and holds is not None and not holds.colour:
        raise InputError(f"{suffix} holds grey only; choose another suffix, such as .png")
    bits = 16 if deep else form.bits
    name = pixels.planar(bits, form.subsampling)
    if alpha and (suffix in _TRANSPARENT or (holds is not None and holds.alpha)):
        name = pixels.with_alpha(bits, form.subsampling or (0, 0)) or name
    return Encoder(suffix.removeprefix("."), pixels.parse(name), {}, tuple(losses))


def losses(info: MediaInfo, suffix: str) -> tuple[str, ...]:
    """Return what of a film its pictures do not hold."""
    picture = info.picture
    lost = []
    if info.chapters:
        lost.append(f"{len(info.chapters)} chapters: {suffix} cannot hold them")
    tags = [*container_tags(info)]
    if tags:
        lost.append(f"tags that {suffix} cannot hold: {', '.join(tags)}")
    if picture.display_matrix is not None:
        lost.append(f"rotation or flip of the picture: {suffix} cannot hold it")
    if picture.sample_aspect_ratio not in (None, 1) and suffix != ".gif":
        lost.append(
            f"sample aspect ratio {picture.sample_aspect_ratio}: it is not written into {suffix}"
        )
    if picture.color_trc in HDR_TRANSFERS:
        lost.append(f"HDR: {suffix} does not state the transfer of its samples, which stay so")
    return tuple(lost)


class PictureSink:
    """Writes each frame into an image file of a folder; takes items from one thread at a time.

    The files are named by `pattern`, with %d or %05d for the number, which counts from 1; `quality`
    is that of formats with loss. `written`, `refused` and `damage` are as of `Sink`: there are no
    other streams.
    """

    refused = 0
    damage: tuple[str, ...] = ()

    def __init__(
        self, folder: Path, pattern: str, plan: Plan, info: MediaInfo, quality: int | None
    ) -> None:
        self._folder, self._pattern, self._plan, self._quality = folder, pattern, plan, quality
        self._matrix = matrix_of(info.picture)
        self._context = copy_context()  # the run, which knows the files of this output
        self.written = 0

    def write(self, item: Item) -> None:
        """Write the item's frame; packets of other streams are dropped."""
        if item.frame is None:
            return
        picture = still.Still(rgb(item.frame, self._plan.format, self._matrix))  # or RGBA
        self.written += 1
        path = self._folder / numbered(self._pattern, self.written)
        try:
            self._context.run(still.write, path, picture, False, self._quality)
        except OutputError as error:
            # The file's name is not known outside; the error of the system is the output's.
            if isinstance(error.__cause__, OSError):
                raise error.__cause__ from None
            raise

    def finish(self) -> None:
        """Do nothing: each picture is whole."""

    def abandon(self) -> None:
        """Do nothing: whoever made the folder removes it."""


def pixel_format(format: Format, alpha: bool) -> str:
    """Return FFmpeg's name of what `rgb` gives."""
    if alpha:
        return "rgba64le" if format.bits > 8 else "rgba"
    if format.subsampling is None:
        return "gray16le" if format.bits > 8 else "gray"
    return "rgb48le" if format.bits > 8 else "rgb24"


def matrix_of(picture: PictureInfo) -> tuple[int, bool]:
    """Return FFmpeg's number of the matrix, and whether samples have full range.

    Where the input states no matrix, it is what players take the input for.
    """
    matrix = picture.colorspace
    if matrix == UNSPECIFIED or matrix not in _MATRICES:
        name = guessed(picture.format.width, picture.format.height)
        matrix = COLOURS[name][0] if name in COLOURS else 6
    return matrix, picture.color_range == FULL_RANGE


def rgb(frame: Frame, format: Format, matrix: tuple[int, bool]) -> npt.NDArray[Any]:
    """Return a frame as RGB or grey of full range: 8 bits of 8, else 16; with alpha as RGBA.

    swscale interpolates chroma, but the matrix is ours (see `matrix_of`): its own is off by half a
    code of 8 bits.
    """
    number, full = matrix
    planes, bits, shift = frame.planes, format.bits, 0
    if format.subsampling not in (None, (0, 0)):
        picture = pixels.picture(planes, pixels.planar(bits, format.subsampling))
        # The same range on both sides: samples are interpolated, not stretched.
        wide = picture.reformat(
            format="yuv444p16le", interpolation="BICUBIC", src_color_range=1, dst_color_range=1
        )
        views: list[Any] = [np.from_dlpack(plane) for plane in wide.planes]
        planes, shift = tuple(views), 16 - bits
    step = 1 << (bits - 8 + shift)  # of a code of 8 bits
    white = 255 if bits == 8 else _WHITE
    top = ((1 << bits) - 1) << shift
    black, luma, chroma = (0, top, top) if full else (16 * step, 219 * step, 224 * step)
    y = (planes[0].astype(np.float32) - black) * (white / luma)
    if format.subsampling is None:
        return _transparent(_rounded(y, white), frame, bits)
    u, v = ((p.astype(np.float32) - 128 * step) * (white / chroma) for p in planes[1:])
    red, blue = NUMBERS[number].red, NUMBERS[number].blue
    green = 1 - red - blue
    result = np.empty((*y.shape, 3), np.uint8 if white == 255 else np.uint16)
    result[..., 0] = _rounded(y + 2 * (1 - red) * v, white)
    result[..., 1] = _rounded(
        y - 2 * (1 - red) * red / green * v - 2 * (1 - blue) * blue / green * u, white
    )
    result[..., 2] = _rounded(y + 2 * (1 - blue) * u, white)
    return _transparent(result, frame, bits)


def _transparent(samples: npt.NDArray[Any], frame: Frame, bits: int) -> npt.NDArray[Any]:
    """Return RGB or grey with the frame's alpha channel, if it has one: RGBA."""
    if frame.alpha is None:
        return samples
    white = 255 if bits == 8 else _WHITE
    alpha = _rounded(frame.alpha.astype(np.float32) * (white / ((1 << bits) - 1)), white)
    colours = samples if samples.ndim == 3 else np.repeat(samples[..., None], 3, 2)
    return np.concatenate((colours, alpha[..., None]), 2)


def _rounded(samples: npt.NDArray[np.float32], white: int) -> npt.NDArray[Any]:
    np.clip(samples, 0, white, out=samples)
    np.rint(samples, out=samples)
    return samples.astype(np.uint8 if white == 255 else np.uint16)
