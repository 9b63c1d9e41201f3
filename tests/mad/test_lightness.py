"""Detection, step 1."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mad.definition import Definition
from snellen.mad.lightness import lightness, table
from support.mad import reference

WAYS = [(v, lut) for v in ("2011", "paper") for lut in (False, True)]


@pytest.mark.parametrize(("variant", "lut"), WAYS)
def test_against_the_reference(random, variant, lut):
    grey = np.concatenate([random.uniform(0, 255, 500), [0, 254, 254.5, 255]])
    found = lightness(grey, Definition(variant, 1, lut))
    np.testing.assert_allclose(found, reference.lightness(grey, variant, lut), rtol=1e-14)
    assert found[-4] == 0


@pytest.mark.parametrize(("variant", "lut"), WAYS)
@pytest.mark.parametrize(("bits", "peak"), [(8, 255.0), (10, 1023.0), (12, 4095.0), (16, 1000.0)])
def test_the_table(variant, lut, bits, peak):
    found = table(bits, peak, Definition(variant, 1, lut))
    grey = np.arange(2**bits) * 255 / peak
    # The factor 255 / peak is rounded once.
    np.testing.assert_allclose(found, reference.lightness(grey, variant, lut), rtol=1e-14)
    if lut and bits == 8:
        assert found[255] == found[254] > found[253]
