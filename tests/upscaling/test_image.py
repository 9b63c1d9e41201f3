"""snellen.upscale: dtypes, layouts, libraries, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen import upscale
from snellen.errors import DeviceError, InputError, ModelError
from snellen.frames.axes import DTYPES
from snellen.frames.frame import Format, Frame
from snellen.upscaling import shipped
from snellen.upscaling.upscaler import Upscaler
from support.aplus import reference
from support.aplus.images import WHITE, drawn
from support.foreign import Picture, Tensor, install


def larger(shape, scale, colour):
    at = len(shape) - 2 - colour
    return (*shape[:at], shape[at] * scale, shape[at + 1] * scale, *shape[at + 2 :])


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([2, 3, 4]),
    dtype=st.sampled_from(DTYPES),
    batch=st.lists(st.integers(1, 3), max_size=2),
    size=st.tuples(st.integers(1, 9), st.integers(5, 9)),
    channels=st.sampled_from([(), (3,), (4,)]),
)
def test_shape_and_type_are_kept(random_model, seed, scale, dtype, batch, size, channels, backend):
    shape = (*batch, *size, *channels)
    image = drawn(np.random.default_rng(seed), shape, dtype)
    before = image.copy()
    axis = -1 if channels else None
    found = upscale(image, scale, random_model(scale), device=backend, channel_axis=axis)
    assert type(found) is np.ndarray and found.dtype == dtype
    assert found.shape == larger(shape, scale, bool(channels))
    assert np.isfinite(found).all() and (image == before).all()
    # Each picture of a batch is enlarged by itself.
    first = upscale(image[(0,) * len(batch)], scale, random_model(scale), device=backend)
    assert (found[(0,) * len(batch)] == first).all()


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from(DTYPES),
    size=st.tuples(st.integers(1, 12), st.integers(5, 12)),
)
def test_grey_is_the_upscalers_luma(random_model, seed, dtype, size, backend):
    model = random_model(2)
    image = drawn(np.random.default_rng(seed), size, dtype)
    bits = {"uint8": 8, "uint16": 16}.get(dtype, 0)
    with Upscaler(2, model, backend) as step:
        step.prepare(Format(size[1], size[0], bits))
        plane = image if bits else image.astype(np.float32)
        wanted = step.run(Frame((plane,))).planes[0].astype(dtype)
    assert (upscale(image, 2, model, device=backend) == wanted).all()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [2, 3, 4])
def test_colour_of_equal_channels_is_the_grey_picture(random, random_model, dtype, scale, backend):
    model = random_model(scale)
    grey = drawn(random, (15, 17), dtype)
    wanted = upscale(grey, scale, model, device=backend).astype(np.float64)
    colour = upscale(np.stack([grey] * 3, axis=-1), scale, model, device=backend).astype(np.float64)
    # The weights 0.299 + 0.587 + 0.114 round to 1 within 2⁻²⁴: features differ by that, which in
    # these 255 windows is too little to tip a tie; integers and float16 (ten digits behind the
    # point) may then round to the neighbour.
    step = {"uint8": 1, "uint16": 1, "float16": 2.0**-10}.get(dtype, 0)
    error = np.abs(colour - wanted[..., None])
    assert error.max() <= step + 2e-5 * WHITE[dtype] * (dtype != "uint8")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("channels", [(), (3,), (4,)])
def test_flat_stays_flat(random_model, dtype, value, channels, backend):
    image = np.full((9, 11, *channels), value * WHITE[dtype]).astype(dtype)
    if channels:
        image[..., 1] //= 3 if dtype.startswith("u") else 1
    found = upscale(image, 3, random_model(3), device=backend)
    wanted = np.broadcast_to(image[0, 0], found.shape)
    if dtype.startswith("u"):
        assert (found == wanted).all()
    else:
        # Bicubic's 1e-6, through the colour matrix and back (coefficients up to 1.8).
        np.testing.assert_allclose(
            found, wanted, rtol=0, atol=2.0**-11 if dtype == "float16" else 5e-6
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("factor", [4.0, 2.0**-20, 2.0**30, 2.0**110])
@pytest.mark.parametrize("channels", [(), (4,)])
def test_a_power_of_two_scales_exactly(random, random_model, dtype, factor, channels, backend):
    """A+ is homogeneous, and such factors only move the exponent."""
    image = random.random((8, 13, *channels)).astype(np.float32).astype(dtype)
    model = random_model(2)
    one, other = (
        upscale(image, 2, model, device=backend),
        upscale(image * factor, 2, model, device=backend, data_range=1),
    )
    assert (other == one * factor).all()


@pytest.mark.slow
def test_floats_are_never_clipped_and_integers_are(random, random_model, backend):
    model = random_model(2)
    edge = np.zeros((12, 12), np.float32)
    edge[:, 6:] = 255
    wild = upscale(edge, 2, model, device=backend, data_range=255)
    assert wild.min() < 0 and wild.max() > 255
    tame = upscale(edge.astype(np.uint8), 2, model, device=backend)
    assert (tame == np.rint(wild.clip(0, 255))).all()
    colour = np.stack([edge, edge[::-1], edge.T], axis=-1)
    wild = upscale(colour, 2, model, device=backend, data_range=255)
    assert wild.min() < 0 and wild.max() > 255
    tame = upscale(colour.astype(np.uint8), 2, model, device=backend)
    assert np.abs(tame - wild.clip(0, 255)).max() <= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("bits", [8, 10, 12, 15, 16])
@pytest.mark.parametrize("channels", [(), (3,), (4,)])
def test_bits(random, random_model, bits, channels, backend):
    white = (1 << bits) - 1
    image = random.choice([0, white], (8, 9, *channels)).astype(np.uint16)
    model = random_model(2)
    found = upscale(image, 2, model, bits=bits, device=backend)
    assert (upscale(image, 2, model, data_range=white, device=backend) == found).all()
    exact = upscale(image.astype(np.float32), 2, model, device=backend, data_range=white)
    assert exact.max() > white and found.max() == white and found.min() == 0
    assert np.abs(found - exact.clip(0, white).astype(np.float64)).max() <= 0.5
    if bits < 16:
        assert upscale(image, 2, model, device=backend).max() > white


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2, 3, 4])
def test_alpha_is_apart_from_colour(random, random_model, scale, backend):
    model = random_model(scale)
    image = drawn(random, (7, 8, 4), "uint8")
    found = upscale(image, scale, model, device=backend)
    assert (found[..., :3] == upscale(image[..., :3], scale, model, device=backend)).all()
    other = image.copy()
    other[..., :3] = 0
    assert (upscale(other, scale, model, device=backend)[..., 3] == found[..., 3]).all()
    wanted = reference.bicubic(image[..., 3], scale).clip(0, 255)
    # Half a step of rounding, and bicubic's own 1e-6 of white (test_bicubic).
    assert np.abs(found[..., 3] - wanted).max() <= 0.5 + 3e-4
    opaque = image.copy()
    opaque[..., 3] = 255
    assert (upscale(opaque, scale, model, device=backend)[..., 3] == 255).all()


def test_an_axis_of_three_is_colour_only_from_three_axes_on(random, random_model, backend):
    model = random_model(2)
    assert upscale(drawn(random, (6, 3), "uint8"), 2, model, device=backend).shape == (12, 6)
    assert upscale(drawn(random, (6, 7, 3), "uint8"), 2, model, device=backend).shape == (12, 14, 3)
    assert upscale(drawn(random, (6, 7, 5), "uint8"), 2, model, device=backend).shape == (6, 14, 10)
    assert upscale(drawn(random, (0, 7, 6), "uint8"), 2, model, device=backend).shape == (0, 14, 12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(9, 10), (2, 9, 10), (9, 10, 3), (9, 10, 4)])
def test_layouts(random, random_model, dtype, shape, backend):
    model = random_model(2)
    image = drawn(random, shape, dtype)
    wanted = upscale(image, 2, model, device=backend)
    fixed = image.copy()
    fixed.flags.writeable = False
    spaced = np.zeros((*shape[:-1], shape[-1] * 2), dtype)
    spaced[..., ::2] = image
    unaligned = np.zeros(image.nbytes + 1, np.uint8)[1:].view(dtype).reshape(shape)
    unaligned[...] = image
    layouts = {
        "Fortran": np.asfortranarray(image),
        "negative strides": image[::-1, ::-1].copy()[::-1, ::-1],
        "read-only": fixed,
        "not contiguous": spaced[..., ::2],
        "not aligned": unaligned,
        "swapped bytes": image.astype(image.dtype.newbyteorder()),
        "moved axes": np.ascontiguousarray(np.moveaxis(image, -1, 0)).transpose(
            *range(1, image.ndim), 0
        ),
    }
    for name, layout in layouts.items():
        assert (layout == image).all()
        found = upscale(layout, 2, model, device=backend)
        assert (found == wanted).all() and found.dtype == layout.dtype, name
        assert found.flags.writeable


def test_dlpack_gives_back_the_librarys_own_arrays(random, random_model, monkeypatch):
    install(monkeypatch)
    model = random_model(2)
    image = drawn(random, (7, 8, 3), "float32")
    found = upscale(Tensor(image), 2, model, device="cpu")
    assert type(found) is Tensor and (found.array == upscale(image, 2, model, device="cpu")).all()
    with pytest.raises(InputError, match=r"lives on a GPU.*\.cpu\(\)"):
        upscale(Tensor(image, (2, 0)), 2, model, device="cpu")


def test_a_library_without_from_dlpack_gives_numpy(random, random_model, monkeypatch):
    image = drawn(random, (7, 8), "uint8")
    for module in ("no_such_module", "json"):
        monkeypatch.setattr(Tensor, "__module__", module)
        found = upscale(Tensor(image), 2, random_model(2), device="cpu")
        assert type(found) is np.ndarray and found.shape == (14, 16)


def test_dlpack_that_cannot_be_read(monkeypatch):
    def refuse(self, **options):
        raise BufferError("needs a gradient")

    monkeypatch.setattr(Tensor, "__dlpack__", refuse)
    with pytest.raises(InputError, match="needs a gradient"):
        upscale(Tensor(np.zeros((4, 4), np.uint8)), device="cpu")


def test_anything_with_array(random, random_model, backend):
    image = drawn(random, (6, 9, 3), "uint8")
    found = upscale(Picture(image), 2, random_model(2), device=backend)
    assert type(found) is np.ndarray
    assert (found == upscale(image, 2, random_model(2), device=backend)).all()


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (np.zeros((4, 4), np.bool_), "got dtype bool; expected one of uint8"),
        (np.zeros((4, 4), np.int64), "int64"),
        (np.zeros((4, 4), np.int8), "int8"),
        (np.zeros((4, 4), np.uint32), "uint32"),
        (np.zeros((4, 4), np.complex64), "complex64"),
        (np.zeros((4, 4), "datetime64[s]"), "datetime64"),
        (np.zeros((4, 4), "S3"), "expected one of"),
        ([[1, 2], [3, 4]], "int64"),
        (None, "got None; expected an array"),
        ("picture.png", "expected an array; files are for"),
        (np.zeros(4, np.uint8), r"shape \(4,\); expected"),
        (np.float32(3), r"shape \(\)"),
        (np.zeros((0, 4), np.uint8), "at least one pixel"),
        (np.zeros((4, 0), np.uint8), "at least one pixel"),
        (np.zeros((0, 4, 3), np.float32), "pixel"),
        (np.zeros((4, 0, 3), np.float32), "pixel"),
        (np.zeros((2, 0, 4, 4), np.float32), "pixel"),
        (np.full((4, 4), np.nan, np.float32), "NaN or infinity; replace"),
        (np.full((4, 4, 3), np.inf, np.float16), "NaN or infinity"),
        (np.full((4, 4), -np.inf, np.float64), "NaN or infinity"),
    ],
)
def test_refusals(image, words, random_model, backend):
    with pytest.raises(InputError, match=words):
        upscale(image, 2, random_model(2), device=backend)


@pytest.mark.parametrize("channels", [(), (3,)])
def test_doubles_beyond_float32_are_refused(random_model, channels, backend):
    """Work is done in float32: 1e39 would become infinity there."""
    image = np.full((4, 5, *channels), 1e39)
    with pytest.raises(InputError, match="float32"):
        upscale(image, 2, random_model(2), device=backend)


def test_one_hole_in_a_batch(random, random_model, backend):
    batch = random.random((3, 5, 6), np.float32)
    batch[2, 4, 5] = np.nan
    with pytest.raises(InputError, match="NaN"):
        upscale(batch, 2, random_model(2), device=backend, channel_axis=None)


@pytest.mark.parametrize(
    ("dtype", "bits", "words"),
    [
        (np.uint8, 10, "expected a whole number, 8 to 8"),
        (np.uint8, 7, "got bits=7; expected a whole number, 8 to 8"),
        (np.uint16, 17, "8 to 16"),
        (np.uint16, 0, "8 to 16"),
        (np.float32, 8, "for integer samples"),
        (np.float64, 0, "for integer samples"),
    ],
)
def test_wrong_bits(random_model, dtype, bits, words, backend):
    with pytest.raises(InputError, match=words):
        upscale(np.zeros((4, 4), dtype), 2, random_model(2), bits=bits, device=backend)


def test_samples_beyond_bits(random_model, backend):
    image = np.zeros((4, 4), np.uint16)
    image[3, 2] = 1024
    for how in ({"bits": 10}, {"data_range": 1023}, {"data_range": 1000}):
        with pytest.raises(InputError, match="samples from 0 to 1024; expected 0 to 10"):
            upscale(image, 2, random_model(2), device=backend, **how)
    with pytest.raises(InputError, match="bits=10 and data_range=1023; expected one"):
        upscale(image, 2, bits=10, data_range=1023, device=backend)


@pytest.mark.parametrize("channels", [(), (3,), (4,)])
def test_a_white_between_whole_bits(random, random_model, channels, backend):
    """Results end at white; beyond 8 bits of uint8 there is nothing."""
    image = random.choice([0, 1000], (8, 9, *channels)).astype(np.uint16)
    model = random_model(2)
    found = upscale(image, 2, model, data_range=1000, device=backend)
    assert found.max() == 1000
    assert (found == upscale(image, 2, model, bits=10, device=backend).clip(0, 1000)).all()
    small = (image // 4).astype(np.uint8)
    with pytest.raises(
        InputError, match="data_range=300; expected at most 255, the greatest uint8"
    ):
        upscale(small, 2, model, data_range=300, device=backend)


@pytest.mark.parametrize("scale", [2.0, np.float32(2), np.int64(2)])
def test_a_scale_is_a_number_of_any_type(scale):
    assert upscale(np.zeros((4, 4), np.uint8), scale, device="cpu").shape == (8, 8)
    assert Upscaler(scale, device="cpu").scale == 2


def test_a_scale_is_no_text():
    with pytest.raises(InputError, match=r"got scale='2'; expected 2, 3, 4, or any number above 1"):
        upscale(np.zeros((4, 4), np.uint8), "2", device="cpu")


def test_wrong_model_and_device(random_model):
    image = np.zeros((4, 4), np.uint8)
    with pytest.raises(ModelError, match="enlarges ×3; expected ×2"):
        upscale(image, 2, random_model(3), device="cpu")
    with pytest.raises(ModelError, match="neither a file"):
        upscale(image, 2, "no-such-model", device="cpu")
    with pytest.raises(DeviceError, match="cannot be used"):
        upscale(image, 2, random_model(2), device="cuda:99")


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_the_shipped_models_by_default(random, scale):
    image = drawn(random, (16, 15, 3), "uint8")
    found = upscale(image, scale, device="cpu")
    assert found.shape == (16 * scale, 15 * scale, 3)
    assert (found == upscale(image, scale, shipped.choose(scale), device="cpu")).all()


def test_an_overshoot_stays_within_half_precision(backend):
    image = np.zeros((12, 12), np.float16)
    image[:, 6:] = 65000
    assert np.isfinite(upscale(image, device=backend, data_range=65504)).all()


def test_alpha_is_bicubic(random):
    image = random.integers(0, 256, (9, 7, 4)).astype(np.uint8)
    wanted = reference.bicubic(image[..., 3].astype(np.float64), 2).clip(0, 255)
    # Half a step of rounding, and bicubic's 1e-6 of white (test_bicubic).
    assert np.abs(upscale(image, device="cpu")[..., 3] - wanted).max() <= 0.5 + 1e-6 * 255
