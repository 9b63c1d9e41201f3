"""PSNR and SSIM beside their definitions, scikit-image and FFmpeg."""

from __future__ import annotations

from math import inf

import av
import numpy as np
import pytest

from snellen import score
from snellen.errors import InputError
from snellen.metrics.psnr import psnr
from snellen.metrics.registry import chosen
from snellen.metrics.ssim import K1, K2, ssim
from snellen.video.pixels import picture

C1, C2 = (K1 * 255) ** 2, (K2 * 255) ** 2


def drawn(shape, white, dtype):
    """A picture and one with an error, without random numbers."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    one = 0.5 + 0.3 * np.sin(x / 5) * np.cos(y / 7) + 0.2 * ((x // 8 + y // 8) % 2 - 0.5)
    both = [np.clip(plane, 0, 1) * white for plane in (one, one + 0.05 * np.sin(x * y / 11))]
    whole = np.dtype(dtype).kind == "u"
    return [np.rint(plane).astype(dtype) if whole else plane.astype(dtype) for plane in both]


# scikit-image 0.26: structural_similarity(a, b, gaussian_weights=True, sigma=1.5,
# use_sample_covariance=False, data_range=white), peak_signal_noise_ratio(a, b, data_range=white)
THEIRS = [
    ((64, 48), 255, "uint8", 0.9247035114673815, 29.122937648022468),
    ((37, 120), 1023, "uint16", 0.926536118314548, 29.163304994642335),
    ((50, 50), 1.0, "float64", 0.9232391760819982, 29.13712671910561),
    ((11, 11), 255, "uint8", 0.924172451340514, 29.74439390169095),
]


@pytest.mark.parametrize(("shape", "white", "dtype", "similarity", "ratio"), THEIRS)
def test_as_scikit_image(shape, white, dtype, similarity, ratio):
    """Rounding is that of sums of squares, which cancel in variances: 1e-13 of 1."""
    one, other = drawn(shape, white, dtype)
    assert ssim(one, other, white) == pytest.approx(similarity, abs=1e-12)
    assert psnr(one, other, white) == pytest.approx(ratio, abs=1e-12)
    assert ssim(one, one, white) == 1 and psnr(one, one, white) == inf


def test_ssim_by_its_definition():
    """Equations 13 to 17 of Wang et al. 2004, window by window."""
    a, b = drawn((30, 37), 255, "uint8")
    offset = np.arange(11) - 5
    window = np.exp(-(offset[:, None] ** 2 + offset**2) / (2 * 1.5**2))
    window /= window.sum()
    found = []
    for y in range(20):
        for x in range(27):
            one, other = (plane[y : y + 11, x : x + 11].astype(float) for plane in (a, b))
            mean = [(window * part).sum() for part in (one, other)]
            spread = [
                (window * (part - m) ** 2).sum() for part, m in zip((one, other), mean, strict=True)
            ]
            both = (window * (one - mean[0]) * (other - mean[1])).sum()
            found.append(
                (2 * mean[0] * mean[1] + C1) * (2 * both + C2)
                / ((mean[0] ** 2 + mean[1] ** 2 + C1) * (sum(spread) + C2))
            )  # fmt: skip
    # Sums of squares up to 255² in float64 lose 1e-11 of a variance.
    assert ssim(a, b) == pytest.approx(np.mean(found), abs=1e-9)


def test_ssim_of_known_planes():
    a, _ = drawn((30, 37), 255, "uint8")
    assert pytest.approx((6.5025, 58.5225)) == (C1, C2)  # ssim_index.m, L = 255
    assert ssim(a, a) == pytest.approx(1)
    dark, light = np.full((20, 20), 100, np.uint8), np.full((20, 20), 120, np.uint8)
    wanted = (2 * 100 * 120 + C1) / (100**2 + 120**2 + C1)
    assert ssim(dark, light) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize(("bits", "layout"), [(8, "gray"), (10, "gray10le")])
def test_psnr_as_ffmpeg(bits, layout):
    """FFmpeg's filter writes two digits."""
    white = (1 << bits) - 1
    one, other = drawn((48, 64), white, "uint8" if bits == 8 else "uint16")
    graph = av.filter.Graph()
    inputs = [
        graph.add_buffer(width=64, height=48, format=av.VideoFormat(layout), time_base="1/25")
        for _ in range(2)
    ]
    measure, sink = graph.add("psnr"), graph.add("buffersink")
    for pad, node in enumerate(inputs):
        node.link_to(measure, 0, pad)
    measure.link_to(sink)
    graph.configure()
    for node, plane in zip(inputs, (other, one), strict=True):
        frame = picture((plane,), layout)
        frame.pts = 0
        node.push(frame)
        node.push(None)
    said = sink.pull().metadata
    key = next(name for name in said if name.startswith("lavfi.psnr.psnr.") and name[-1] in "yY")
    assert float(said[key]) == pytest.approx(psnr(one, other, white), abs=0.006)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("mad", ("mad",)),
        ("ssim,mad", ("mad", "ssim")),
        (" psnr , psnr", ("psnr",)),
        (["ssim", "psnr"], ("psnr", "ssim")),
        (("mad", "psnr", "ssim"), ("mad", "psnr", "ssim")),
    ],
)
def test_names(given, names):
    assert chosen(given) == names


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    "given", ["", "MAD", "mad;psnr", [], [None], 3, None, ["mad,psnr"], {}, np.zeros((2, 0))]
)
def test_no_names(given):
    with pytest.raises(
        InputError, match=r"metrics=.*; expected some of .* of these names$"
    ) as caught:
        chosen(given)
    assert caught.value.parameter == "metrics"


def test_vmaf_says_what_it_is_for():
    with pytest.raises(InputError, match=r"vmaf is of films: snellen.score_files has it"):
        chosen("mad,vmaf")


@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_beside_mad(random, channels, dtype):
    """Of the luma that MAD takes; a reference may meet many pictures."""
    one = random.integers(0, 256, (40, 36, *channels)).astype(np.uint8)
    many = random.integers(0, 256, (2, 40, 36, *channels)).astype(np.uint8)
    if dtype == "float32":
        one, many = one / np.float32(255), many / np.float32(255)
    white = 255 if dtype == "uint8" else 1
    plain = score(one, many, device="cpu")
    assert plain.psnr is None and plain.ssim is None
    assert "psnr" not in dir(plain)
    found = score(one, many, metrics="mad,psnr,ssim", device="cpu")
    assert (found.mad == plain.mad).all() and found.psnr.shape == found.ssim.shape == (2,)
    grey = [picture @ [0.298936021293775, 0.587043074451121, 0.114020904255103] for picture in
            (one, *many)] if channels else [one, *many]  # fmt: skip
    if channels and dtype == "uint8":
        grey = [np.floor(plane + 0.5) for plane in grey]
    for number in range(2):
        alone = score(one, many[number], metrics=["ssim", "psnr"], device="cpu")
        assert np.isnan([alone.mad, alone.hi, alone.lo]).all()
        assert (alone.psnr, alone.ssim) == (found.psnr[number], found.ssim[number])
        assert type(alone.psnr) is float
        assert alone.psnr == pytest.approx(psnr(grey[0], grey[number + 1], white), rel=1e-9)
        assert alone.ssim == pytest.approx(ssim(grey[0], grey[number + 1], white), rel=1e-6)


def test_small_pictures_have_no_mad():
    one, other = drawn((11, 12), 255, "uint8")
    assert 0 < score(one, other, metrics="ssim", device="cpu").ssim < 1
    for metrics, words in [("mad,ssim", "34×34"), ("psnr", None), ("vmaf", "mad, psnr, ssim")]:
        if words is None:
            score(one, other, metrics=metrics, device="cpu")
            continue
        with pytest.raises(InputError, match=words):
            score(one, other, metrics=metrics, device="cpu")
    for how in ({"maps": True}, {"variant": "paper"}, {"hi_scale": 10}, {"eight_bit_lut": True}):
        with pytest.raises(InputError, match=f"got {next(iter(how))} with metrics=psnr; it is"):
            score(one, other, metrics="psnr", device="cpu", **how)
    with pytest.raises(InputError, match=r"a score without MAD, .*; take score\.psnr"):
        float(score(one, other, metrics="psnr", device="cpu"))
    with pytest.raises(InputError, match="expected 0 to 1"):
        score(one * 1.0, other * 1.0, metrics="psnr", device="cpu")


@pytest.mark.gpu
def test_of_arrays_on_a_gpu(cuda, random):
    one, other = random.integers(0, 256, (2, 40, 36, 3)).astype(np.uint8)
    wanted = score(one, other, metrics="psnr,ssim", device="cpu")
    for given in [(cuda.asarray(one), cuda.asarray(other)), (one, cuda.asarray(other))]:
        found = score(*given, metrics="mad,psnr,ssim")
        assert (found.psnr, found.ssim) == (wanted.psnr, wanted.ssim) and found.mad > 0
