"""Where the channels of an array are: `channel_axis`, for `upscale`, `score` and `deblur`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from snellen.errors import InputError, caution, quoted
from snellen.frames import values
from snellen.frames.arrays import library

Array = Any
"""An array of NumPy or CuPy."""

ChannelAxis = int | None | Literal["auto"]
"""The axis of channels; None: there is none; "auto": the last, where it is as long as colours."""

NEVER = (1, 2)
"""Lengths of a last axis that no method takes for channels, and hardly ever for columns."""

FIRST = 3
"""Length of the third axis from the end that makes an array look like RGB, channels first."""


@dataclass(frozen=True, slots=True)
class Channels:
    """The axis of channels of an array, which goes to the end and comes back with the result.

    A single channel is left out meanwhile.
    """

    axis: int | None
    """Counted from the end, as -1; None: stays where it is, or there is none."""
    single: bool
    """Return whether the axis has one channel."""
    lengths: tuple[int, ...]
    """Lengths of a last axis that holds channels, as `Axes.of` takes them."""

    @classmethod
    def of(
        cls,
        shape: tuple[int, ...],
        channel_axis: object,
        lengths: tuple[int, ...] = (3,),
        alpha: bool = True,
        frames: bool = False,
    ) -> Channels:
        """Return the channels of an array of a shape, by the caller's `channel_axis`.

        The method takes one channel, or so many as one of `lengths`. A last axis of 4, where 4 is
        none of these, is taken for columns (`alpha`), or else refused as transparency. With
        `frames` the caller says that the first axis holds frames of one object.

        UserWarning: "auto" takes an array as grey pictures whose third axis from the end looks like
        RGB. InputError: no such axis, or another number of channels; "auto" with a last axis of 1
        or 2.
        """
        shape = tuple(shape)
        if isinstance(channel_axis, str) and values.plain(channel_axis) == "auto":
            _refuse_odd(shape, lengths, alpha)
            _doubt_first(shape[frames:], shape, lengths)
            return cls(None, False, lengths)
        if channel_axis is None:
            return cls(None, False, ())
        axis = values.integer(channel_axis)
        if axis is None or not -len(shape) <= axis < len(shape) or len(shape) < 3:
            raise InputError(
                f"got `channel_axis`={quoted(channel_axis)} with an array of shape {shape}; "
                'expected one of three or more axes, as -1; None: no channels; or "auto"',
                parameter="channel_axis",
            )
        axis -= len(shape) * (axis >= 0)
        if shape[axis] not in (1, *lengths):
            raise InputError(
                f"got `channel_axis`={axis} of an array of shape {shape}, which has {shape[axis]} "
                f"channels; expected {' or '.join(map(str, (1, *lengths)))}",
                parameter="channel_axis",
                advice="choose among the channels, as image[..., :3]",
            )
        single = shape[axis] == 1
        return cls(axis, single, () if single else (shape[axis],))

    def batched(self, shape: tuple[int, ...]) -> bool:
        """Return whether an array of this shape, channels where they were, is a batch."""
        colour = self.axis is not None or (len(shape) > 2 and shape[-1] in self.lengths)
        return len(shape) > 2 + colour

    def last(self, array: Array) -> Array:
        """Return a view of an array in which the channels are the last axis."""
        if self.axis is None:
            return array
        array = library(array).moveaxis(array, self.axis, -1)
        return array[..., 0] if self.single else array

    def back(self, result: Array) -> Array:
        """Return a view of a result in which the channels are where they were."""
        if self.axis is None:
            return result
        result = result[..., None] if self.single else result
        axis = max(self.axis, -result.ndim)  # the axis of frames of one object has gone
        return library(result).moveaxis(result, -1, axis)


def _doubt_first(
    pictures: tuple[int, ...], shape: tuple[int, ...], lengths: tuple[int, ...]
) -> None:
    """Warn of grey pictures that come in threes: most such arrays hold RGB, channels first."""
    if len(pictures) > 2 and pictures[-3] == FIRST and pictures[-1] not in lengths:
        caution(
            f"got an array of shape {shape} without `channel_axis`, which is taken for grey "
            f"pictures of {pictures[-2]}×{pictures[-1]}; if its third axis from the end holds "
            "RGB, state `channel_axis`=-3, else `channel_axis`=None"
        )


def _refuse_odd(shape: tuple[int, ...], lengths: tuple[int, ...], alpha: bool) -> None:
    """Refuse a last axis that looks like channels of a number that is not taken."""
    if len(shape) < 3:
        return
    count = shape[-1]
    transparent = count == 4 and not alpha and 4 not in lengths and min(shape[-3:-1]) > 4
    if count not in NEVER and not transparent:
        return
    columns = f"or `channel_axis`=None, if these are pictures of {count} column{'s'[: count - 1]}"
    first = {
        1: "state `channel_axis`=-1",
        2: "leave the second out, image[..., 0]",
        4: "leave transparency out, image[..., :3]",
    }[count]
    raise InputError(
        f"got an array of shape {shape}, whose last axis looks like {count} "
        f"channel{'s'[: count - 1]}; expected (H, W) or (H, W, {' or '.join(map(str, lengths))})",
        parameter="channel_axis",
        advice=f"{first}, {columns}",
    )
