"""Super-resolution as a module of PyTorch; it calls `snellen.upscale`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from snellen.errors import InputError
from snellen.upscaling.doubt import is_unasked
from snellen.upscaling.image import enlarged
from snellen.upscaling.models import Model, load
from snellen.upscaling.shipped import Method, SourceKind

_CHANNELS = (1, 3, 4)
_WANTED = "expected a tensor (N, C, H, W) with 1, 3 (RGB) or 4 (RGBA) channels"


class Upscale(torch.nn.Module):  # type: ignore[misc]  # PyTorch is not there when types are checked
    """Enlarge pictures by a compact network or A+; it calls `snellen.upscale`.

    It has no parameters, and its results have no gradients.

    Parameters
    ----------
    scale : int
        2, 3 or 4.
    model : str, Path or Model, optional
        A shipped model's name, a file, or a loaded one; None: ours for this scale.
    data_range : float, optional
        The sample value of white; None: 1.0 of floats, which must then stay within ±1.5, and the
        greatest of integers.
    method, source_kind
        As of `snellen.upscale`.

    Raises
    ------
    ModelError
        The model is missing, damaged or of another scale.
    """

    def __init__(
        self,
        scale: int = 2,
        model: str | Path | Model | None = None,
        *,
        data_range: float | None = None,
        method: Method | None = None,
        source_kind: SourceKind | None = None,
    ) -> None:
        super().__init__()
        self.model = load(model, scale, method, source_kind)
        self.scale, self.data_range = self.model.scale, data_range
        self._look = is_unasked(model, source_kind)

    def forward(self, images: Any) -> Any:
        """Return the pictures enlarged.

        Parameters
        ----------
        images : (N, C, H, W)
            1 channel, RGB or RGBA with straight alpha; uint8, uint16, float16, float32 or float64.
            Tensors on the CPU are read in place. Those on an NVIDIA GPU stay there, and work is
            ordered on PyTorch's current stream.

        Returns
        -------
        Tensor
            (N, C, scale·H, scale·W) of the same type, on the same device.

        Raises
        ------
        InputError
            Other shapes or types, or as of `snellen.upscale`.
        """
        if not isinstance(images, torch.Tensor):
            raise InputError(f"got {type(images).__name__}; {_WANTED}", parameter="images")
        shape = tuple(images.shape)
        if len(shape) != 4 or shape[1] not in _CHANNELS:
            raise InputError(f"got a tensor of shape {shape}; {_WANTED}", parameter="images")
        return enlarged(
            images.detach(),
            self.scale,
            self.model,
            "cpu" if images.device.type == "cpu" else "auto",
            data_range=self.data_range,
            channel_axis=1,
            look=self._look,
        )
