"""The result of a restoration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from snellen.frames.brief import Brief, table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import TypeVar  # which mypy knows wherever it runs

    Array = TypeVar("Array", default=Any)
    Numbers = npt.NDArray[np.float64]
else:  # `typing.get_type_hints` finds these; NumPy takes long to import
    from typing import TypeVar

    Array = TypeVar("Array")
    Numbers = Any


AUTO = "auto"
"""The prior that finds the blur of stills, and doubts it."""
RESTORED, SHARP, IMPLAUSIBLE = "restored", "no blur", "implausible"
"""Outcomes of a picture with that prior."""


def in_a_word(outcomes: Sequence[str | None]) -> str | None:
    """Return "restored" if one is, else "implausible" if one is, else "no blur"; or None."""
    return next((one for one in (RESTORED, IMPLAUSIBLE, SHARP) if one in outcomes), None)


@dataclass(frozen=True, slots=True, repr=False)
class Step(Brief):
    """The progress at one check."""

    iteration: int
    """Number of iterations done."""
    fit: float
    """Data fidelity, see `Restored.fit`."""
    change: float
    """Relative change of the picture since the previous check: ‖f − f before‖ / ‖f‖."""


@dataclass(frozen=True, slots=True, repr=False)
class Restored(Brief, Generic[Array]):
    """A restored picture, and the PSF that blurred it."""

    image: Array
    """Restored picture: an array of the same library, dtype and shape as the input; several frames
    of one object give one picture."""
    psf: Any
    """PSF of each picture of a batch and of each frame: (…, K, K) float32, K odd, sum 1. The input
    is approximately convolution(image, psf). An estimated PSF is centred, unless recentre=False; a
    given one stays where it was."""
    fit: float | Numbers
    """Data fidelity: mean over the samples of y·ln(y/g) − y + g (Poisson, I-divergence) or of
    (y − g)² (Gaussian), where y is the input scaled to 0 … 1 and g = convolution(image, psf). It is
    0 if they agree, and for a constant picture. For a batch, an array over its axes."""
    iterations: int
    """Number of iterations done: fewer than requested if the tolerance stopped them."""
    history: tuple[Step, ...] = ()
    """Progress at every check, if it was requested."""
    outcome: Any = None
    """The outcome of the search of prior="auto": "restored", or the picture is returned as it was,
    which found "no blur", or only one that is "implausible", as with too much noise. Of a batch,
    and of tiles, a NumPy array of these over its axes. None: another prior, or none."""

    def _repr_html_(self) -> str:
        """Return the figures, a single picture and its blur, for notebooks."""
        from snellen.frames.notebook import picture, pixels

        names = ("fit", "iterations", "outcome")
        found = table(["Restored", ""], [(one, getattr(self, one)) for one in names])
        if (image := pixels(self.image)) is not None:
            found += picture(image, "restored")
            if self.psf.ndim == 2 and (blur := pixels(self.psf, float(self.psf.max()))) is not None:
                found += picture(blur, "blur")
        return found
