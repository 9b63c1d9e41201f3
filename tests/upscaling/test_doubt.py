"""Pictures that look coded and go through a model for clean sources unasked: it is said."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest
from PIL import Image

import snellen
from snellen.upscaling import doubt

SIZE = (96, 128)


@pytest.fixture(scope="module")
def pictures():
    """A smooth picture in RGB, and what JPEG makes of it."""
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    plain = 120 + 60 * np.sin(x / 9 + y / 23) + 40 * np.cos(y / 7 - x / 31)
    rgb = np.stack([plain, 0.8 * plain, plain[::-1]], -1).astype(np.uint8)
    Image.fromarray(rgb).save(file := io.BytesIO(), "JPEG", quality=60)
    return rgb, np.asarray(Image.open(file))


def said(call) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught if "source_kind=film" in str(one.message)]


def upscale(image, **how):
    return said(lambda: snellen.upscale(image, device="cpu", method="cnn-fast", **how))


@pytest.mark.cases
@pytest.mark.parametrize(
    "kind",
    [
        lambda a: a,
        lambda a: a[..., 1],
        lambda a: a.astype(np.uint16) * 257,
        lambda a: a.astype(np.float32) / 255,
        lambda a: np.stack([a, a]),
        lambda a: np.concatenate([a, a[..., :1]], -1),
    ],
)
def test_an_array_that_looks_coded_is_said_and_one_that_does_not_is_not(pictures, kind):
    plain, coded = map(kind, pictures)
    assert upscale(coded) and not upscale(plain)
    assert upscale(coded, source_kind="auto")


def test_what_is_stated_goes_on_without_a_word(pictures):
    _, coded = pictures
    for kind in ("clean", "film"):
        assert not upscale(coded, source_kind=kind)
    assert not said(lambda: snellen.upscale(coded, model="cnn-fast-clean-x2", device="cpu"))


@pytest.mark.cases
@pytest.mark.parametrize(("bits", "dtype"), [(8, np.uint8), (10, np.uint16), (0, np.float32)])
def test_an_upscaler_says_it_once(pictures, bits, dtype):
    _, coded = pictures
    luma = np.ascontiguousarray(coded[..., 1], dtype) / dtype(255 if bits == 0 else 1)
    luma = luma.astype(dtype) << dtype(bits - 8) if bits else luma
    with snellen.Upscaler(2, method="cnn-fast", device="cpu") as upscaler:
        upscaler.prepare(snellen.Format(SIZE[1], SIZE[0], bits))
        assert said(lambda: upscaler.run(snellen.Frame((luma,))))
        assert not said(lambda: upscaler.run(snellen.Frame((luma,))))


def test_no_empty_array_is_looked_at():
    assert not upscale(np.zeros((0, *SIZE), np.uint8))


def test_a_module_of_pytorch_says_it(torch, pictures):
    from snellen.torch import Upscale

    plain, coded = (torch.as_tensor(one.transpose(2, 0, 1)[None].copy()) for one in pictures)
    for kind, expected in ((None, True), ("clean", False)):
        module = Upscale(method="cnn-fast", source_kind=kind)
        assert bool(said(lambda module=module: module(coded))) == expected
        assert not said(lambda module=module: module(plain))


@pytest.mark.gpu
def test_a_picture_on_a_gpu_gets_the_same_answer(pictures):
    import cupy

    for picture, wanted in zip(pictures, (False, True), strict=True):
        there = cupy.asarray(picture)
        snellen.clear_cache()  # the first array of a kind is looked at
        assert doubt.is_doubtful(there, 255) == doubt.is_doubtful(picture, 255) == wanted
        assert bool(said(lambda image=there: snellen.upscale(image, method="cnn-fast"))) == wanted
        assert not said(lambda image=there: snellen.upscale(image, method="cnn-fast"))


class Silent(list):
    def __str__(self):
        raise RuntimeError("no answer")


def test_a_kind_that_has_no_text_is_refused():
    with pytest.raises(snellen.ModelError, match="expected one of auto, clean, film, soft"):
        snellen.upscale(np.zeros((12, 10), np.uint8), source_kind=Silent())
