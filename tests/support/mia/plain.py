"""Plain MIA, without a prior, which is not the default for stills; and a prior from one start."""

from __future__ import annotations

from functools import partial

import pytest

import snellen
from snellen.mia.l0 import prior

deblur = partial(snellen.deblur, prior=None)
deblur_file = partial(snellen.deblur_file, prior=None)


def estimate(image, psf_size, progress=None, factor=1.0):
    """The PSF that prior="l0" finds from one start: of this size, with λ times a factor."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prior, "STARTS", ((1.0, factor),))
        return prior.candidates(image, psf_size, progress)[0]
