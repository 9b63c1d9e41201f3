"""MAD as a module of PyTorch, called as those of pyiqa and piq are; it calls `snellen.score`."""

from __future__ import annotations

from typing import Any

import torch

from snellen.errors import InputError
from snellen.frames.values import choice
from snellen.mad import definition
from snellen.mad.definition import SMALLEST, Definition, Variant
from snellen.mad.image import score

REDUCTIONS = ("none", "mean", "sum")
_WANTED = (
    f"expected a tensor (N, 1, H, W) or (N, 3, H, W) with at least {SMALLEST}×{SMALLEST} pixels"
)


class MAD(torch.nn.Module):  # type: ignore[misc]  # PyTorch is not there when types are checked
    """Score pictures against their references by MAD; it calls `snellen.score`.

    The scores are detached: they have no gradients. `MADLoss` has them.

    Parameters
    ----------
    reduction : str
        "none": a score for each picture, as in pyiqa; "mean" (piq's default) or "sum" of them.
    data_range : float
        The sample value of white. MAD rounds the grey of 8-bit RGB to 8 bits, but not that of
        floats, which changes scores a little: uint8 tensors with 255 score as `snellen score` does.
    variant, hi_scale, eight_bit_lut
        Which MAD: see `snellen.Scorer`.

    Attributes
    ----------
    lower_better : bool
        True: identical pictures score 0.

    Raises
    ------
    InputError
        A setting that does not exist.
    """

    lower_better = True

    def __init__(
        self,
        reduction: str = "none",
        data_range: float = 1.0,
        variant: Variant = "2011",
        hi_scale: float = 200.0,
        eight_bit_lut: bool = False,
    ) -> None:
        super().__init__()
        check_reduction(reduction)
        which = Definition(variant, hi_scale, eight_bit_lut)
        self.reduction = reduction
        self.data_range = definition.peak(data_range, 0)
        self.variant, self.hi_scale = variant, which.hi_scale
        self.eight_bit_lut = which.eight_bit_lut

    def forward(self, distorted: Any, reference: Any) -> Any:
        """Return the scores.

        The distorted picture is the first argument, as in pyiqa and piq. Unlike most measures of
        piq, MAD is not symmetrical: the reference hides errors.

        Parameters
        ----------
        distorted, reference : (N, 1, H, W) grey or (N, 3, H, W) RGB
            On the CPU or an NVIDIA GPU; they are scored there, in the precision that
            `snellen.score` chooses. One reference (N = 1) may serve many distorted pictures.

        Returns
        -------
        Tensor
            float64 (N,), or () for a mean or sum, on the device of `distorted`.

        Raises
        ------
        InputError
            Other shapes, or as of `snellen.score`.
        """
        one, other = (_pictures(checked(images)) for images in (reference, distorted))
        if one.ndim != other.ndim:
            raise InputError(
                f"got {tuple(distorted.shape)} and a reference {tuple(reference.shape)}; expected "
                "equal shapes, or one reference"
            )
        found = score(
            one,
            other,
            data_range=self.data_range,
            channel_axis=None if one.ndim == 3 else -1,
            variant=self.variant,
            hi_scale=self.hi_scale,
            eight_bit_lut=self.eight_bit_lut,
            device=other.device.type,
        )
        scores = torch.as_tensor(found.mad, dtype=torch.float64, device=other.device)
        return scores if self.reduction == "none" else getattr(scores, self.reduction)()


def check_reduction(reduction: str) -> None:
    """Refuse (InputError) what is no reduction."""
    choice("reduction", reduction, REDUCTIONS)


def checked(images: Any) -> Any:
    """Return a tensor NCHW; refuse (InputError) another one."""
    if not isinstance(images, torch.Tensor):
        raise InputError(f"got {type(images).__name__}; {_WANTED}")
    shape = tuple(images.shape)
    if len(shape) != 4 or shape[1] not in (1, 3) or min(shape[2:]) < SMALLEST:
        raise InputError(f"got a tensor of shape {shape}; {_WANTED}")
    return images


def _pictures(images: Any) -> Any:
    """Return a tensor NCHW as (N, H, W) or (N, H, W, 3), without a copy."""
    images = images.detach()
    return images[:, 0] if images.shape[1] == 1 else images.movedim(1, -1)
