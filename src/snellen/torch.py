"""MAD as a module of PyTorch, called as those of pyiqa and piq are.

Snellen does not depend on PyTorch: this file alone imports it.
"""

from __future__ import annotations

from typing import Any

from snellen.errors import InputError
from snellen.mad import definition
from snellen.mad.definition import SMALLEST, Definition
from snellen.mad.image import score

try:
    import torch
except ImportError as error:
    raise ImportError(
        f"snellen.torch needs PyTorch, which cannot be imported ({error}): install it as "
        "https://pytorch.org says, or use snellen.score, which takes NumPy arrays, too",
        name="torch",
    ) from error

REDUCTIONS = ("none", "mean", "sum")
_WANTED = (
    f"expected a tensor (N, 1, H, W) or (N, 3, H, W) with at least {SMALLEST}×{SMALLEST} pixels"
)


class MAD(torch.nn.Module):  # type: ignore[misc]  # PyTorch is not there when types are checked
    """Score pictures against their references by MAD: a shell over `snellen.score`.

    Gradients do not flow through it: the scores are detached, so it measures and cannot train.

    Parameters
    ----------
    reduction : str
        "none": a score for each picture, as pyiqa's; "mean" (piq's default) or "sum" of them.
    data_range : float
        The sample value of white. The definition rounds grey of 8-bit RGB to 8 bits, but not of
        floats, which moves scores a little: uint8 tensors with 255 score as `snellen score` does.
    variant, hi_scale, eight_bit_lut
        Which MAD: see `snellen.Scorer`.

    Attributes
    ----------
    lower_better : bool
        True: 0 is identical.

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
        variant: str = "2011",
        hi_scale: float = 200.0,
        eight_bit_lut: bool = False,
    ) -> None:
        super().__init__()
        if reduction not in REDUCTIONS:
            raise InputError(
                f"`reduction`={reduction!r}; expected one of {REDUCTIONS}", parameter="reduction"
            )
        Definition(variant, hi_scale, eight_bit_lut)
        self.reduction = reduction
        self.data_range = definition.peak(data_range, 0)
        self.variant, self.hi_scale, self.eight_bit_lut = variant, hi_scale, eight_bit_lut

    def forward(self, distorted: Any, reference: Any) -> Any:
        """Return the scores.

        The distorted picture comes first, as in pyiqa (and in piq, whose measures are mostly
        symmetrical). MAD is not: it asks what the reference hides.

        Parameters
        ----------
        distorted, reference : (N, 1, H, W) grey or (N, 3, H, W) RGB
            On the CPU or an NVIDIA GPU, where they are scored, in the precision that
            `snellen.score` chooses there. One reference may meet many (N = 1).

        Returns
        -------
        Tensor
            float64 (N,), or () of a mean or sum, where `distorted` lives.

        Raises
        ------
        InputError
            Other shapes, and what `snellen.score` refuses.
        """
        one, other = _pictures(reference), _pictures(distorted)
        found = score(
            one,
            other,
            data_range=self.data_range,
            variant=self.variant,
            hi_scale=self.hi_scale,
            eight_bit_lut=self.eight_bit_lut,
            device=other.device.type,
        )
        scores = torch.as_tensor(found.mad, dtype=torch.float64, device=other.device)
        return scores if self.reduction == "none" else getattr(scores, self.reduction)()


def _pictures(images: Any) -> Any:
    """Return NCHW as (N, H, W) or (N, H, W, 3), without a copy."""
    if not isinstance(images, torch.Tensor):
        raise InputError(f"got {type(images).__name__}; {_WANTED}")
    shape = tuple(images.shape)
    if len(shape) != 4 or shape[1] not in (1, 3) or min(shape[2:]) < SMALLEST:
        raise InputError(f"got a tensor of shape {shape}; {_WANTED}")
    images = images.detach()
    return images[:, 0] if shape[1] == 1 else images.movedim(1, -1)
