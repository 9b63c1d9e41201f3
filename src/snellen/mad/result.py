"""The result of a comparison of two pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.frames.brief import FLAT, Brief, table
from snellen.metrics import registry

Number = float | npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False)
class Score(Brief):
    """How much a picture differs from its reference; of a batch, numbers are arrays.

    Of MAD they are not a number (NaN) where `metrics` left it out. Those of other metrics are
    attributes, too, and None where `metrics` did not ask for them: `psnr`, the peak signal-to-noise
    ratio in dB, infinite for equal pictures, and `ssim`, the structural similarity, 1 for equal
    ones.
    """

    mad: Number
    """0: no visible difference. Higher is worse: some 140 for photographs, with no upper bound."""
    hi: Number
    """Score of the detection stage: errors that are just visible, in pictures of high quality."""
    lo: Number
    """Score of the appearance stage: how different pictures of low quality look."""
    detection: Any = None
    """Map (…, H, W) where maps were asked for: hi is `hi_scale` times its root mean square, without
    the margin (16 rows and columns at the top left, 17 at the bottom right)."""
    appearance: Any = None
    """Map (…, H, W) where maps were asked for: lo is its root mean square, without the margin."""
    others: Mapping[str, Number] = field(default_factory=dict, hash=False, metadata=FLAT)
    """Scores of other metrics than MAD that `metrics` asked for, by name."""

    if TYPE_CHECKING:  # checkers of types would take any name for a score
        psnr: ClassVar[Number | None]
        ssim: ClassVar[Number | None]
    else:

        def __getattr__(self, name: str) -> Number | None:
            """Return the score of another metric; None: `metrics` did not ask for it."""
            return registry.held(self.others, name)

    def __dir__(self) -> list[str]:
        """Return the names of scores, too, which notebooks complete."""
        return sorted({*object.__dir__(self), *self.others})

    def __float__(self) -> float:
        """Return MAD of one picture (InputError: of a batch, or `metrics` left it out)."""
        if isinstance(self.mad, np.ndarray):
            raise InputError(
                f"got the scores of a batch, {self.mad.shape}; expected that of one picture",
                advice="take float(score.mad[i]), or score.mad.mean()",
            )
        if np.isnan(self.mad):
            raise InputError(
                "got a score without MAD, which `metrics` left out; its number is that of MAD",
                advice="take score.psnr or score.ssim",
            )
        return float(self.mad)

    def _repr_html_(self) -> str:
        """Return the scores as a table, and the maps of one picture as heat maps, for notebooks."""
        from snellen.frames.notebook import picture
        from snellen.mad.heatmap import drawn

        named = {"mad": self.mad, "hi": self.hi, "lo": self.lo, **self.others}
        known = {registry.title(name): np.asarray(one) for name, one in named.items()}
        every = zip(*(one.ravel().tolist() for one in known.values()), strict=True)
        found = table(list(known), every)
        for name in ("detection", "appearance"):
            if (values := getattr(self, name)) is not None and values.ndim == 2:
                found += picture(drawn(values, name), name)
        return found


PendingScore = Callable[[], tuple[Score, bool]]
"""Waits for a comparison that was begun, and returns its score and whether a picture has areas for
which float32 does not suffice."""
