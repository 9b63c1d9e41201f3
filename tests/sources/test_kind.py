"""The kind of a source: by sharpness where detail is strong, by codec and bits."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.sources import kind
from snellen.sources.kind import SOFT, SOFT_SCENE, decide, sharpness
from snellen_lab.sources.coder import Coding, coded
from snellen_lab.sources.degrade import blurred, shrunk


def still(shape=(400, 440)):
    """Discs with sharp edges and letters' thin lines."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    discs = ((x % 97 - 48) ** 2 + (y % 89 - 44) ** 2 < 900) * 80
    lines = ((x // 3 + y // 2) % 23 == 0) * 50
    return (60 + discs + lines).astype(np.uint8)


def test_a_known_wave_has_the_ratio_of_its_filters():
    """At ω a second difference over d is 2 − 2·cos(d·ω), and smoothing (1 + cos ω) / 2."""
    omega = 0.7
    wave = 100 + 50 * np.sin(omega * np.arange(512))
    plane = np.tile(np.rint(wave * 100).astype(np.float32) / 100, (64, 1))
    fine = 2 - 2 * np.cos(omega)
    coarse = (2 - 2 * np.cos(2 * omega)) * (1 + np.cos(omega)) / 2
    # Tiles hold 16 samples, not whole periods, and the strongest tenth is a choice of these.
    assert sharpness([plane]) == pytest.approx(2 * np.log2(fine / coarse), abs=0.1)


@pytest.mark.slow
def test_blur_makes_it_less_and_coding_hardly_changes_it():
    planes = [np.roll(still(), 3 * k, 1) for k in range(4)]
    found = []
    for sigma in (0.0, 0.7, 1.0, 1.5):
        lows = [shrunk(plane, 2, "bicubic", sigma) for plane in planes]
        plain, after = sharpness(lows), sharpness(coded(lows, Coding("x264", 26)).planes)
        assert abs(plain - after) < 0.35
        found.append(plain)
    assert found == sorted(found, reverse=True)
    assert found[0] > SOFT > found[-1]


def test_blocks_do_not_look_sharp():
    soft = blurred(still(), 2.0)
    blocks = np.add.outer(np.arange(400) // 8 % 2, np.arange(440) // 8 % 2) * 12
    assert sharpness([soft + blocks]) < sharpness([soft]) < SOFT


@pytest.mark.slow
@pytest.mark.cases
@pytest.mark.parametrize("width", [8, 16, 32, 40, 48, 80])
@pytest.mark.parametrize("coder", [None, "x264"])
def test_bars_between_blocks_are_not_soft(width, coder):
    """Test patterns: only the wider of the filters sees such edges."""
    levels = np.array([16, 235, 180, 60, 140, 90, 200, 40])
    bars = np.tile(levels[np.arange(480) // width % 8].astype(np.uint8), (240, 1))
    frames = [bars] * 3 if coder is None else coded([bars] * 3, Coding(coder, 23)).planes
    assert decide(frames, "ffv1", None).name != "soft"
    assert decide(frames, "h264", 0.1).name == "film"


def test_a_pattern_is_as_sharp_wherever_its_edges_lie():
    found = []
    for at in range(8):
        y, x = np.mgrid[:240, :480]
        pattern = np.where((x + at) // 40 % 2, 180, 60) + np.where((y + 3) // 37 % 2, 30, 0)
        found.append(sharpness([pattern.astype(np.uint8)]))
    assert min(found) > -0.3 > SOFT  # an edge's ratio is 1.07 … 1.78; both filters see two of them
    soft = [sharpness([blurred(pattern.astype(np.uint8), 2.0)])]
    assert max(soft) < SOFT


def test_the_order_of_frames_and_flat_ones_change_nothing():
    sharp, soft = still(), blurred(still(), 0.6).astype(np.uint8)
    flat = np.full_like(sharp, 20)
    assert sharpness([sharp, soft]) == pytest.approx(sharpness([soft, sharp]), abs=1e-6)
    assert sharpness([sharp, flat]) == sharpness([sharp])
    assert sharpness([flat]) is sharpness([]) is sharpness([np.ones((5, 5), np.uint8)]) is None


def test_the_decision():
    sharp, soft = [still()], [blurred(still(), 1.5).astype(np.uint8)]
    assert decide(sharp, "h264", 0.1).name == decide(sharp, "h264", None).name == "film"
    assert decide(sharp, "h264", 2.0).name == decide(sharp, "ffv1", None).name == "clean"
    assert decide(soft, "h264", 0.1).name == decide(soft, "ffv1", 9.0).name == "soft"
    flat = decide([np.full((64, 64), 20, np.uint8)], "hevc", 0.01)
    assert flat.name == "film" and flat.sharpness is None and "flat" in flat.reason
    assert "0.10 bits a pixel" in decide(sharp, "h264", 0.1).reason


def test_what_was_coded_before_is_not_clean():
    """A film without loss that was made of one with loss, if most of its frames say so."""
    plain = [np.roll(still(), 3 * k, 1) for k in range(6)]
    after = list(coded(plain, Coding("x264", 30)).planes)
    assert decide(plain, "ffv1", None).name == "clean"
    found = decide(after, "ffv1", None)
    assert found.name == "film" and "ffv1, but 6 of 6 pictures look coded" in found.reason
    assert decide(after, "h264", 2.0).name == "film"
    assert decide(plain[:3] + after[:3], "ffv1", None).name == "clean"


@pytest.mark.parametrize(("found", "name"), [(-0.75, "film"), (-0.85, "soft"), (-2.0, "soft")])
def test_soft_is_not_taken_lightly(found, name, monkeypatch):
    """Scenes without blur reach -0.7, and lose as much by a model for soft ones as others gain."""
    of_each = iter([found, found, found - 0.4])
    monkeypatch.setattr(kind, "sharpness", lambda frames: next(of_each))
    assert decide([still()] * 2, "h264", 0.1).name == name


def scrolling(sigma):
    wide = blurred(still((400, 520)), sigma).astype(np.uint8)
    return [wide[:, k : k + 440] for k in range(0, 64, 8)]


@pytest.mark.slow
def test_frames_of_one_scene_say_less():
    """Their content alone reaches -1.65."""
    one, other, blurry = (scrolling(sigma) for sigma in (0.6, 0.5, 1.5))
    assert SOFT_SCENE < sharpness(one) < SOFT
    assert decide(one, "h264", 0.1).name == decide(one[:1], "h264", 0.1).name == "film"
    assert sharpness(one + other) < SOFT and decide(one + other, "h264", 0.1).name == "soft"
    found = decide(blurry, "h264", 0.1)
    assert found.name == "soft" and "of one scene is under -1.7" in found.reason
