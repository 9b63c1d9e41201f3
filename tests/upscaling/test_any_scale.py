"""Arrays at any magnification: what files give, whatever the axes, the type and the library."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import snellen
from snellen.errors import InputError, ModelError
from snellen.stills.still import read
from snellen.upscaling.models import load


def enlarged(image, scale, **how):
    return snellen.upscale(image, scale, device="cpu", **{"method": "cnn-fast", **how})


@pytest.fixture
def picture(random):
    return random.integers(0, 256, (12, 15, 3)).astype(np.uint8)


@pytest.mark.slow
@pytest.mark.cases
@pytest.mark.parametrize("scale", [1.5, 2.5, 5, 6, 7.3, np.float32(2.5), 16])
@pytest.mark.parametrize("kind", ["grey", "RGB", "RGBA", "16 bit"])
def test_it_is_what_a_file_becomes(tmp_path, picture, scale, kind):
    given = {
        "grey": picture[..., 0], "RGB": picture,
        "RGBA": np.concatenate([picture, picture[::-1, :, :1]], -1),
        "16 bit": picture[..., 0].astype(np.uint16) * 257,
    }[kind]  # fmt: skip
    found = enlarged(given, scale, source_kind="clean")
    assert found.shape[:2] == (round(12 * float(scale)), round(15 * float(scale)))
    Image.fromarray(given).save(tmp_path / "in.png")
    snellen.upscale_file(
        tmp_path / "in.png", tmp_path / "out.png", scale=float(scale), device="cpu",
        method="cnn-fast",
    )  # fmt: skip
    assert found.dtype == given.dtype
    np.testing.assert_array_equal(found, read(tmp_path / "out.png").pixels)


@pytest.mark.cases
@pytest.mark.parametrize("dtype", ["uint8", ">u2", "float16", "float32", ">f4", "float64"])
def test_batches_and_channels_are_those_of_single_pictures(picture, dtype):
    image = picture / 255 if "f" in dtype else picture
    batch = np.stack([image, image[::-1], image[:, ::-1]]).astype(dtype)
    found = enlarged(batch, 2.5)
    assert found.shape == (3, 30, 38, 3) and found.dtype == batch.dtype
    for one, large in zip(batch, found, strict=True):
        np.testing.assert_array_equal(large, enlarged(one, 2.5))
    first = enlarged(batch.transpose(0, 3, 1, 2), 2.5, channel_axis=1)
    np.testing.assert_array_equal(first, found.transpose(0, 3, 1, 2))
    grey = enlarged(batch[..., 0], 2.5, channel_axis=None)
    assert grey.shape == (3, 30, 38)
    np.testing.assert_array_equal(enlarged(batch[..., :1], 2.5, channel_axis=-1)[..., 0], grey)
    assert enlarged(batch[:0], 2.5).shape == (0, 30, 38, 3)


def test_white_is_kept(picture):
    for white, dtype in ((1023, np.uint16), (1000, np.uint16), (200, np.uint8)):
        given = (picture[..., 0] > 99) * np.asarray(white, dtype)
        found = enlarged(given, 2.5, data_range=white)
        assert found.max() == white and found.dtype == dtype
    floats = given.astype(np.float32) / white * 1.5  # as far beyond white as is taken
    assert enlarged(floats, 6).max() > 1.5


def test_a_tensor_stays_one(torch, picture):
    found = enlarged(torch.as_tensor(picture), 2.5)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), enlarged(picture, 2.5))


@pytest.mark.cases
@pytest.mark.parametrize("scale", [-1, 0, 1, 16.5, float("nan"), "2", True])
def test_refusals_are_those_of_files(tmp_path, picture, scale):
    with pytest.raises(InputError) as of_arrays:
        enlarged(picture, scale)
    with pytest.raises(InputError) as of_files:
        snellen.upscale_file(tmp_path / "in.png", tmp_path / "out.png", scale=scale)
    assert str(of_arrays.value) == str(of_files.value)
    assert of_arrays.value.parameter == "scale"


def test_a_model_is_used_once_or_twice(picture, random_model):
    model = random_model(2)
    how = {"device": "cpu", "model": model}
    np.testing.assert_array_equal(snellen.upscale(picture, 4.0001, **how).shape, (48, 60, 3))
    assert snellen.upscale(picture, 2.5, **how).shape == (30, 38, 3)
    with pytest.raises(ModelError, match="enlarges ×2; expected ×3"):
        snellen.upscale(picture, 3, **how)
    with pytest.raises(InputError, match=r"scale=5 makes .*; expected at most 60×48"):
        snellen.upscale(picture, 5, **how)
    with pytest.raises(InputError, match="got model and method"):
        snellen.upscale(picture, 2.5, method="aplus", **how)


def test_what_is_prepared_names_what_takes_others():
    for call in (snellen.Upscaler, lambda scale: load(None, scale)):
        with pytest.raises(ModelError, match=r"expected one of 2, 3, 4; snellen\.upscale and"):
            call(2.5)


@pytest.mark.gpu
def test_an_array_on_a_gpu_stays_there(picture):
    import cupy

    found = snellen.upscale(cupy.asarray(picture), 2.5, method="cnn-fast")
    assert isinstance(found, cupy.ndarray) and found.shape == (30, 38, 3)
    on_host = snellen.upscale(picture, 2.5, device="cuda", method="cnn-fast")
    np.testing.assert_array_equal(found.get(), on_host)
