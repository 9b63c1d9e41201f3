"""Compact networks through the public face, on both backends."""

from __future__ import annotations

import numpy as np
import pytest

from snellen import Format, Frame, Upscaler, upscale
from snellen.frames.colour import ycc
from snellen.upscaling.models import load, read
from support.aplus.oriented import oriented_model
from support.cnn import planes as exact
from support.cnn import reference


@pytest.fixture(params=[2, 3, 4])
def network(request, random):
    return reference.model(random, request.param)


@pytest.mark.slow
@pytest.mark.parametrize(("bits", "full"), [(8, False), (8, True), (10, False), (0, False)])
def test_frames(random, network, bits, full, backend):
    s, format = network.scale, Format(21, 17, bits, (1, 1), full_range=full)
    white = (1 << bits) - 1 if bits else 1
    planes = [(random.random(shape) * white).astype(format.dtype) for shape in format.shapes]
    with Upscaler(s, network, backend) as step:
        assert step.prepare(format) == format.scaled(s)
        luma, *chroma = step.run(Frame(tuple(planes))).planes
    exact.check(luma, planes[0], network, format, format.scaled(s))
    with Upscaler(s, device=backend) as aplus:
        aplus.prepare(format)
        for mine, theirs in zip(chroma, aplus.run(Frame(tuple(planes))).planes[1:], strict=True):
            assert mine.tobytes() == theirs.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "bits", "white"),
    [("uint8", None, 255), ("uint16", None, 65535), ("uint16", 12, 4095), ("float32", None, 1)],
)
def test_arrays(random, network, dtype, bits, white, backend):
    """The network sees 8-bit codes, whatever the samples are; of colour, luma's."""
    s, integer = network.scale, dtype != "float32"
    image = random.random((14, 15, 3)) * white
    image = (np.rint(image) if integer else image).astype(dtype)
    grey = np.ascontiguousarray(image[..., 0])
    depth = white.bit_length() if integer else 0
    format = Format(15, 14, depth, full_range=integer)
    found = upscale(grey, s, network, backend, bits=bits)
    assert found.dtype == dtype
    exact.check(found, grey, network, format, format.scaled(s))
    large = upscale(image, s, network, backend, bits=bits).astype(np.float64)
    inside = (large > 0).all(-1) & (large < white).all(-1)  # where nothing was clipped
    assert inside.mean() > 0.01
    format = Format(15, 14, 0, white=white)
    wanted, residual = exact.enlarged(ycc(image.astype(np.float64))[0], network, format, format)
    # What `exact.check` allows; each of three channels is rounded.
    error = 2.0**-10 * max(white / 2, np.abs(residual).max()) + 2.0**-17 * white
    assert np.abs(ycc(large)[0] - wanted)[inside].max() <= error + (0.5 if integer else 0)


@pytest.mark.slow
def test_strengths_of_format_2_know_white(random, backend):
    """Grey and its three equal channels fall into the same classes, for each type of samples."""
    model = oriented_model(2)
    grey = random.integers(0, 256, (12, 13), np.uint8)
    for image in (grey, grey.astype(np.uint16) * 257):
        one = upscale(image, 2, model, backend).astype(float)
        three = upscale(np.stack([image] * 3, -1), 2, model, backend).astype(float)
        assert np.abs(three - one[..., None]).max() <= 1 + 1e-4 * image.max()


def test_a_file_is_told_by_its_header(random, network, tmp_path):
    path = tmp_path / "net.safetensors"
    network.save(path)
    assert read(path).digest == load(str(path), network.scale).digest == network.digest
    plane = random.integers(0, 256, (9, 8), np.uint8)
    found = upscale(plane, network.scale, path, "cpu")
    assert (found == upscale(plane, network.scale, network, "cpu")).all()
