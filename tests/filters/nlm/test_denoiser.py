"""Non-local means on the CPU and, marked `gpu`, on a GPU, against float64."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.cpu import threads
from snellen.errors import InputError
from snellen.filters.nlm import cpu
from snellen.filters.nlm.definition import BINS, EXACT, Settings, limit, thresholds
from snellen.filters.nlm.step import Denoiser
from snellen.frames.frame import Format, Frame
from support.filters import nlm as reference

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def clip(random, format, count, sigma=6.0):
    """Frames of a scene that moves, with noise of `sigma` 8-bit codes; samples at both ends."""
    white, frames = (1 << format.bits) - 1, []
    for number in range(count):
        planes = []
        for place, (height, width) in enumerate(format.shapes):
            y, x = np.mgrid[:height, :width]
            scene = 0.5 + 0.3 * np.sin((x + number) / 5 + place) * np.cos(y / 7)
            scene[height // 3 : height // 2] += 0.6  # an edge, and clipped samples
            noisy = scene * white + random.normal(0, sigma / 255 * white, scene.shape)
            planes.append(np.clip(np.rint(noisy), 0, white).astype(format.dtype))
        frames.append(planes)
    return frames


def with_pitch(plane):
    """The plane as part of a wider array."""
    wide = np.full((plane.shape[0], plane.shape[1] + 3), 77, plane.dtype)
    wide[:, 1:-2] = plane
    part = wide[:, 1:-2]
    part.flags.writeable = False
    return part


def run(step, frames):
    """The planes of all results of a run, whose times are those of the frames."""
    out = []
    for number, planes in enumerate(frames):
        out += step.push(Frame(tuple(map(with_pitch, planes)), pts=number, duration=2))
    out += step.push(None)
    assert [(one.pts, one.duration, one.ready) for one in out] == [
        (number, 2, None) for number in range(len(frames))
    ]
    return [one.planes for one in out]


CASES = {
    "grey": (Format(37, 23, 8), 2, 1),
    "4:2:0": (Format(45, 50, 8, (1, 1)), 3, 1),
    "4:4:4, 10 bits": (Format(27, 41, 10, (0, 0)), 2, 1),
    "4:2:2, 16 bits": (Format(43, 21, 16, (1, 0)), 2, 2),
    "tiny": (Format(1, 3, 8, (1, 1)), 2, 1),
    "one frame": (Format(40, 24, 12, (1, 1)), 1, 2),
    "no other frames": (Format(33, 22, 8), 2, 0),
    "more than a tile": (Format(261, 36, 8), 2, 1),
}
QUICK = "4:2:0", "tiny", "4:2:2, 16 bits"


def cases(quick=QUICK):
    return [pytest.param(case, marks=[] if case in quick else pytest.mark.slow) for case in CASES]


@pytest.mark.cases
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", cases())
def test_against_float64(random, case, device):
    format, count, radius = CASES[case]
    frames = clip(random, format, count)
    step = Denoiser(radius=radius, device=device)
    assert (step.traits.reach, step.traits.rate, step.traits.ticks) == (radius, 1, 1)
    assert step.prepare(format) == format
    for _ in range(2):  # after the end of a run it is as after `prepare`
        found = run(step, frames)
        for at, planes in enumerate(found):
            exact = reference.denoised(frames, at, format.bits, radius=radius)
            used = min(count, 2 * radius + 1)
            for plane, wanted in zip(planes, exact, strict=True):
                assert plane.dtype == format.dtype
                assert reference.close(plane, wanted, format.bits, used)
    step.close()


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("full_range", [False, True])
@pytest.mark.parametrize(("bits", "to"), [(8, 10), (10, 8), (8, 16)])
def test_another_depth(random, bits, to, full_range, device):
    format = Format(30, 26, bits, (1, 1), full_range=full_range)
    frames = clip(random, format, 2)
    step = Denoiser(strength=1.5, noise=5, radius=1, device=device)
    assert step.prepare(format, to).bits == to
    for at, planes in enumerate(run(step, frames)):
        exact = reference.denoised(frames, at, bits, 1.5, 1, 5.0, to, full_range)
        for plane, wanted in zip(planes, exact, strict=True):
            assert reference.close(plane, wanted, to, 3)
    step.close()


@pytest.mark.parametrize("device", DEVICES)
def test_frames_beyond_the_reach_change_nothing(random, device):
    """So segments that begin `reach` frames earlier have the same frames."""
    format = Format(40, 28, 8, (1, 1))
    frames = clip(random, format, 6)
    step = Denoiser(radius=1, device=device)
    step.prepare(format)
    whole, part = run(step, frames), run(step, frames[2:5])
    for one, other in zip(whole[3], part[1], strict=True):
        np.testing.assert_array_equal(one, other)
    assert any((one != other).any() for one, other in zip(whole[2], part[0], strict=True))
    step.close()


def test_any_number_of_threads_gives_the_same(random, monkeypatch):
    format = Format(50, 100, 10, (1, 1))
    frames = clip(random, format, 2)
    results = []
    for count in (1, 3):
        with threads.limited(count):
            step = Denoiser(radius=1, device="cpu")
            step.prepare(format)
            results.append(run(step, frames))
            step.close()
    for one, other in zip(*results, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_every_sample_is_written(random, monkeypatch):
    """Scratch and results hold NaN, or ones as bits, before."""
    empty = np.empty

    def poisoned(*shape, **options):
        made = empty(*shape, **options)
        made.view(np.uint8)[...] = 0xFF
        return made

    format = Format(70, 40, 8, (1, 1))
    frames = clip(random, format, 2)
    step = Denoiser(radius=1, device="cpu")
    step.prepare(format)
    wanted = run(step, frames)
    monkeypatch.setattr(cpu.np, "empty", poisoned)
    for one, other in zip(wanted, run(step, frames), strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    step.close()


@pytest.mark.parametrize("device", DEVICES)
def test_noise_goes_and_edges_stay(random, device):
    format = Format(160, 120, 8)
    clean = np.full((120, 160), 60.0)
    clean[:, 80:] = 170
    frames = [
        [np.clip(np.rint(clean + random.normal(0, 8, clean.shape)), 0, 255).astype(np.uint8)]
        for _ in range(5)
    ]
    step = Denoiser(device=device)
    step.prepare(format)
    (found,) = run(step, frames)[2]
    step.close()
    assert np.sqrt(((found - clean) ** 2).mean()) < 8 / 5  # the error of single samples was 8
    assert found[:, 79].max() < 115 < found[:, 80].min()


@pytest.mark.parametrize("device", DEVICES)
def test_without_noise_nothing_changes(device):
    """Black bars are no noise, and a picture of two colours has none."""
    format = Format(64, 64, 8)
    plane = np.full((64, 64), 16, np.uint8)
    plane[20:44] = 200
    step = Denoiser(device=device)
    step.prepare(format)
    for (found,) in run(step, [[plane]] * 3):
        np.testing.assert_array_equal(found, plane)
    step.close()


def test_the_estimate_of_the_noise(random):
    """Of a smooth picture with bars, which do not count."""
    y, x = np.mgrid[:180, :240]
    for bits, sigma in ((8, 4.0), (10, 4.0), (16, 4.0), (8, 20.0)):
        white = (1 << bits) - 1
        plane = (0.5 + 0.2 * np.sin(x / 40) * np.cos(y / 50)) * white
        plane += random.normal(0, sigma * 2.0 ** (bits - 8), plane.shape)
        plane[:30] = plane[-30:] = white / 16
        format = Format(240, 180, bits)
        group = cpu.Group(Settings(strength=1), slice(0, 1), format, format)
        padded = group.padded([np.rint(plane).astype(format.dtype)])
        # T = 8 σ² 25 of levels. One of twenty blocks, each of 256 samples that depend on each
        # other (about 60 that do not), is below: 1.64 of their deviation, 0.76 / √60 of the mean.
        level = 2.0 ** (min(bits, 10) - 8)
        found = np.sqrt(padded.threshold[0] / 8 / 25) / level
        assert 0.75 < found / sigma < 1


def test_distances_are_exact_in_float32():
    for planes in (1, 2):
        assert limit(planes) ** 2 * planes * 25 <= EXACT
        table = thresholds(Settings(strength=10), planes, 10)
        assert table.shape == (BINS, 2) and (table[:, 0] == np.floor(table[:, 0])).all()
        assert table[0, 0] >= 1 and table[-1, 0] == EXACT


def test_the_white_of_a_format_stays():
    step, format = Denoiser(device="cpu"), Format(9, 8, 10, white=1000)
    assert step.prepare(format) == step.outcome(format, 1) == format
    assert step.prepare(format, 8) == Format(9, 8, 8)
    step.close()


def test_what_cannot_be_used():
    for options, name in (
        ({"strength": 0}, "strength"), ({"strength": float("nan")}, "strength"),
        ({"strength": "much"}, "strength"), ({"strength": 11}, "strength"),
        ({"radius": 9}, "radius"), ({"radius": -1}, "radius"), ({"noise": -1}, "noise"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=f"got {name}="):
            Denoiser(**options, device="cpu")
    step = Denoiser(device="cpu")
    with pytest.raises(InputError, match="not prepared"):
        step.push(None)
    with pytest.raises(InputError, match="8 to 16 bits"):
        step.prepare(Format(8, 8, 0))
    with pytest.raises(InputError, match="on_device"):
        step.prepare(Format(8, 8), on_device=True)
    with pytest.raises(InputError, match="GiB of memory"):
        step.prepare(Format(10**6, 10**6))
    with pytest.raises(InputError, match="got bits=0"):
        step.prepare(Format(8, 8), 0)
    step.prepare(Format(8, 8))
    with pytest.raises(InputError, match="prepare again"):
        step.push(Frame((np.zeros((8, 9), np.uint8),)))
    with pytest.raises(InputError, match="expected a Frame"):
        step.push(np.zeros((8, 8), np.uint8))
    step.close()


@pytest.mark.gpu
@pytest.mark.parametrize("bits", [8, 10, 16])
def test_both_devices_give_the_same_bytes(cuda, random, bits):
    """Also where frames come from the GPU and stay there."""
    format = Format(150, 70, bits, (1, 1))
    frames = clip(random, format, 7)
    results = []
    for device, there in (("cpu", False), ("cuda", False), ("cuda", True)):
        step, out = Denoiser(device=device), []
        step.prepare(format, on_device=there)
        for planes in frames:
            given = tuple(map(cuda.asarray, planes)) if there else tuple(planes)
            cuda.cuda.Device().synchronize()  # or the step would read planes on their way
            out += step.push(Frame(given))
        out += step.push(None)
        for frame in out:
            if there:
                frame.ready.synchronize()
        results.append([[cuda.asnumpy(one) for one in frame.planes] for frame in out])
        step.close()
    for other in results[1:]:
        for one, another in zip(results[0], other, strict=True):
            for a, b in zip(one, another, strict=True):
                np.testing.assert_array_equal(a, b)
