"""Filters with a name: that they do what their names say, at 8 and at 10 bits."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames.frame import Frame
from snellen.jobs import Enhancement
from snellen.jobs.kinds.enhance import add_steps
from snellen.jobs.kinds.enhance_line import Line
from snellen.video.clip import Clip
from snellen.video.source.decode import Source
from snellen.video.steps.chain import Chain
from support.video.clips import make

SIZE = (128, 96)
NAMES = {8: "yuv420p", 10: "yuv420p10le"}


@pytest.fixture(scope="module", params=[8, 10])
def info(request, tmp_path_factory):
    """What is known of a film of 8 or 10 bits."""
    folder = tmp_path_factory.mktemp("filters")
    film = make(
        folder / "in.mkv", codec="ffv1", frames=1, size=SIZE, pix_fmt=NAMES[request.param],
        colour=(1, 1, 1, 1),
    )  # fmt: skip
    source = Source(film, Clip())
    source.close()
    return source.info


def filtered(info, pictures, **options):
    """Send luma, in code values of 8 bits, through the steps; return the luma that comes out."""
    line = Line(info, print)
    add_steps(Enhancement(**options), line)
    add_steps(Enhancement(**options), line, after=True)
    form = info.picture.format
    chain, scale = Chain(*line.steps), 1 << (form.bits - 8)
    assert chain.prepare(form) == form
    chroma = [np.full(shape, 128 * scale, form.dtype) for shape in form.shapes[1:]]
    out = []
    for number, one in enumerate(pictures):
        plane = np.round(one * scale).astype(form.dtype)
        out += chain.push(Frame((plane, *chroma), number, 1))
    out += chain.push(None)
    chain.close()
    assert [(one.pts, one.duration) for one in out] == [(n, 1) for n in range(len(pictures))]
    for frame in out:
        for plane, expected in zip(frame.planes[1:], chroma, strict=True):
            assert np.abs(plane.astype(int) - expected).max() <= scale
    return [frame.planes[0] / scale for frame in out]


def scene():
    """Smooth shades with an edge, in code values of 8 bits."""
    y, x = np.mgrid[: SIZE[1], : SIZE[0]]
    return 90 + 30 * np.sin(x / 17) + 20 * np.cos(y / 13) + 40 * (x > 64)


def error(found, expected):
    return float(np.mean([(one - expected)[8:-8, 8:-8] ** 2 for one in found]))


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("how", "sigma", "least"), [("light", 2, 2), ("medium", 4, 3), ("strong", 4, 3)]
)
def test_noise(info, how, sigma, least):
    """Noise that does not move has less than a half, or a third, of its power left."""
    random = np.random.default_rng(5)
    noisy = [scene() + random.normal(0, sigma, scene().shape) for _ in range(9)]
    found = filtered(info, noisy, denoise=how)
    assert error(found[3:6], scene()) * least < error(noisy[3:6], scene())


def test_edges_of_blocks(info):
    """Each block of eight by eight is flat: the steps between blocks become less."""
    blocks = np.kron(scene()[::8, ::8], np.ones((8, 8)))
    (found,) = filtered(info, [blocks], deblock=True)

    def step(plane):
        smooth = np.abs(np.diff(plane, axis=1))[:, 7::8]
        return smooth[smooth < 15].mean()  # not at the edge of the scene

    assert step(found) < 0.7 * step(blocks)


def test_bands(info):
    """A gradient of a code value in forty samples comes near to what it was before it was coded."""
    y, x = np.mgrid[: SIZE[1], : SIZE[0]]
    smooth = 60 + x / 40 + y / 90
    (found,) = filtered(info, [np.round(smooth)], deband=True)

    def seen(plane):  # from afar
        blocks = (plane - smooth)[16:80, 16:112].reshape(4, 16, 6, 16)
        return np.abs(blocks.mean((1, 3))).max()

    assert seen(found) < 0.5 * seen(np.round(smooth))


def test_sharpness(info):
    """More of it gives steeper edges; flat parts stay, and so does the range of the codes."""
    ramps = []
    for amount in (0.1, 0.5, 1):
        (found,) = filtered(info, [scene().clip(20, 230)], sharpen=amount)
        ramps.append(np.abs(np.diff(found, axis=1)).mean())
        assert np.abs(found - scene())[8:-8, 8:56].max() < 4  # no edge there
    assert np.abs(np.diff(scene(), axis=1)).mean() < ramps[0] < ramps[1] < ramps[2]


def test_the_sharpest(info):
    """The amount 1 is a strength of 0.8: nearer to 1 FFmpeg's filter divides by zero."""
    picture = [scene().clip(20, 230)]
    assert (filtered(info, picture, sharpen=1)[0] == by_cas(info, picture, 0.8)).all()
    assert (filtered(info, picture, sharpen=1)[0] != by_cas(info, picture, 0.82)).any()


def by_cas(info, pictures, strength):
    """Return luma of FFmpeg's filter alone."""
    (found,) = filtered(info, pictures, vf=f"cas=strength={strength}:planes=1")
    return found


@pytest.mark.cases(3)
@pytest.mark.parametrize("amount", [0, -1, 1.1, float("nan"), "1", True])
def test_no_amount(amount):
    with pytest.raises(InputError) as caught:
        Enhancement(sharpen=amount)
    assert caught.value.parameter == "sharpen"


def test_no_kind_of_denoising():
    with pytest.raises(InputError, match="light") as caught:
        Enhancement(denoise="heavy")
    assert caught.value.parameter == "denoise"
