"""Grey, lightness and its error on the GPU, for every type of sample and both variants."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.frames.frame import Format
from snellen.mad.cuda.lightness import Lightness
from snellen.mad.cuda.precision import samples
from snellen.mad.definition import Definition
from support.mad import reference
from support.mad.precision import DTYPES, finer
from support.mad.samples import TYPES, drawn

pytestmark = pytest.mark.gpu

SIZES = [(34, 34), (35, 34), (37, 53), (40, 131)]  # blocks are 8 × 32 pixels
HOW = [{}, {"variant": "paper"}, {"eight_bit_lut": True}]


class Made:
    """All that the stage makes of two planes, in float64."""

    def __init__(self, cuda, format, peak, dtype, one, other, **how):
        stage = Lightness(Definition(**how), format, peak, dtype)
        buffer = cuda.full((3, *one.shape), cuda.nan, dtype)
        levels = cuda.full((2, 2), cuda.nan, dtype)
        there = [cuda.asarray(plane, samples(format, dtype)) for plane in (one, other)]
        stage.grey(there[0], levels[0], buffer[0])
        stage.light(there[0], levels[1], buffer[1])
        stage.error(*there, buffer[2])
        assert (levels[0] == levels[1]).all()
        self.level, self.light_of_level = levels[0].get().tolist()
        self.grey, self.light, self.error = buffer.get().astype(np.float64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("how", HOW, ids=str)
@pytest.mark.parametrize(("bits", "peak"), TYPES)
def test_against_the_reference(cuda, random, bits, peak, how, dtype):
    for height, width in SIZES:
        planes = drawn(random, (height, width), bits, peak)
        made = Made(cuda, Format(width, height, bits), peak, dtype, *planes, **how)
        assert planes[0].min() < made.level < planes[0].max()
        assert made.level == round(made.level) or not bits
        exact = [plane.astype(np.float64) for plane in (*planes, np.float64(made.level))]
        # A difference (exact of integers), a factor and a product, each rounded.
        wanted = (exact[0] - exact[2]) * (255 / peak)
        np.testing.assert_allclose(made.grey, wanted, rtol=finer(dtype, 2e-7))
        greys = [plane * (255 / peak) for plane in exact]
        one, other, level = (reference.lightness(grey, **how) for grey in greys)
        assert made.light_of_level == pytest.approx(
            float(level), rel=finer(dtype, 6e-8 if bits else 1e-6)
        )
        for found, wanted, most in (
            (made.light, one - level, np.maximum(one, level)),
            (made.error, other - one, np.maximum(one, other)),
        ):
            # Of integers one rounding of the difference. Of floats rounded greys and powers, which
            # CUDA bounds by 4 units of the greater; of float64 so does the table, and NumPy.
            inexact = not bits or dtype == "float64"
            bound = finer(dtype, 1e-6) * (np.abs(wanted) + inexact * most)
            # NumPy's powers of a scalar and of an array may differ by a unit.
            assert (np.abs(found - wanted) <= bound + 1e-15 * most).all()
        assert (made.error[planes[0] == planes[1]] == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", ["2011", "paper"])
def test_a_small_error_keeps_its_digits(cuda, random, variant, dtype):
    """Steps of 2⁻¹⁰ of grey, which differences of two rounded lightnesses would lose."""
    size = (34, 40)
    one = random.integers(1 << 10, 254 << 10, size) / 1024
    other = one + random.choice([-1, 1], size) / 1024
    planes = one.astype(np.float32), other.astype(np.float32)
    made = Made(cuda, Format(40, 34, 0), 255.0, dtype, *planes, variant=variant)
    wanted = reference.lightness(other, variant) - reference.lightness(one, variant)
    # NumPy's own difference of two float64 is good to 1e-10.
    rtol = {"float32": 2e-6, "float64": 1e-9}[dtype]
    np.testing.assert_allclose(made.error, wanted, rtol=rtol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("how", HOW, ids=str)
@pytest.mark.parametrize(("bits", "peak"), TYPES)
@pytest.mark.parametrize("share", [0, 0.1, 1])
def test_of_one_value_exactly_nothing_is_left(cuda, bits, peak, how, share, dtype):
    """So that a picture of one value has no response at all; its level is that value."""
    for height, width in SIZES:
        format = Format(width, height, bits)
        flat = np.full((height, width), share * peak).astype(format.dtype)
        made = Made(cuda, format, peak, dtype, flat, flat, **how)
        assert made.level == flat[0, 0]
        assert not made.grey.any() and not made.light.any() and not made.error.any()
