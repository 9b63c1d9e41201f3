"""Whole frames: chroma, what prepare and run promise, and what they refuse."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

from snellen.aplus import cpu
from snellen.errors import DeviceError, InputError, ModelError
from snellen.frames.frame import CENTRE, LEFT, TOP_LEFT, Format, Frame
from snellen.gpu import device, profile
from snellen.upscaling.upscaler import Upscaler
from support.aplus import reference
from support.aplus.frames import enlarged
from support.aplus.oriented import oriented_model


@pytest.mark.parametrize("siting", [LEFT, CENTRE, TOP_LEFT])
@pytest.mark.parametrize("subsampling", [(1, 1), (1, 0), (0, 0), (0, 1)])
@pytest.mark.parametrize(
    ("bits", "full"), [(8, False), (10, False), (12, True), (16, True), (0, False)]
)
def test_chroma(random, random_model, siting, subsampling, bits, full, backend):
    scale = {8: 2, 10: 3, 12: 4, 16: 2, 0: 3}[bits]
    model = random_model(scale)
    format = Format(11, 7, bits, subsampling, siting, full)
    white = (1 << bits) - 1 if bits else 1
    planes = [(random.random(shape) * white).astype(format.dtype) for shape in format.shapes]
    out = enlarged(model, planes, format, backend=backend)
    wanted = format.scaled(scale)
    assert [plane.shape for plane in out] == list(wanted.shapes)
    assert {plane.dtype for plane in out} == {wanted.dtype}
    phase = tuple(p if log2 else 0.5 for p, log2 in zip(siting, subsampling, strict=True))
    for plane, large in zip(planes[1:], out[1:], strict=True):
        expected = reference.bicubic(plane, scale, large.shape, phase)
        if bits:
            expected = expected.clip(0, white)
        # Bicubic's own 1e-6 of white (test_bicubic), and for integers half a step of rounding.
        error = np.abs(large.astype(np.float64) - expected).max()
        assert error <= 1e-6 * white + (0.5 if bits else 0)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(("bits", "to"), [(8, 10), (10, 8), (8, 16), (16, 12)])
def test_chroma_at_another_depth(random, random_model, bits, to, full, backend):
    """Around neutral: grey stays grey, also in full range."""
    format = Format(12, 8, bits, (1, 1), full_range=full)
    luma_, *chroma = (np.full(shape, 1 << (bits - 1), format.dtype) for shape in format.shapes)
    chroma[1] = random.integers(0, 1 << bits, chroma[1].shape).astype(format.dtype)
    _, grey, found = enlarged(random_model(2), [luma_, *chroma], format, to, backend)
    assert (grey == 1 << (to - 1)).all()
    factor = ((1 << to) - 1) / ((1 << bits) - 1) if full else 2.0 ** (to - bits)
    exact = reference.bicubic(chroma[1], 2, found.shape, (0.25, 0.5))
    wanted = (exact - (1 << (bits - 1))) * factor + (1 << (to - 1))
    # Bicubic's 1e-6 of white (test_bicubic), and half a step of rounding.
    error = np.abs(found - wanted.clip(0, (1 << to) - 1)).max()
    assert error <= 0.5 + 1e-6 * (1 << to)


def test_prepare_tells_the_format_of_the_results(random_model, backend):
    step = Upscaler(3, random_model(3), backend)
    format = Format(7, 5, 8, (1, 1), CENTRE)
    assert step.prepare(format) == format.scaled(3)
    assert step.prepare(format, 10) == format.scaled(3, 10)
    step.close()


def test_times_travel(random_model, backend):
    model = random_model(2)
    with Upscaler(2, model, backend) as step:
        step.prepare(Format(6, 6))
        before = Frame((np.zeros((6, 6), np.uint8),), pts=7, duration=3)
        after = step.run(before)
    assert (after.pts, after.duration) == (7, 3)
    assert before.planes[0].shape == (6, 6) and after.planes[0].shape == (12, 12)


def test_results_are_never_written_again(random, random_model, backend):
    model = random_model(2)
    with Upscaler(2, model, backend) as step:
        step.prepare(Format(9, 9, 0))
        one = step.run(Frame((random.random((9, 9), np.float32),))).planes[0]
        kept = one.copy()
        two = step.run(Frame((random.random((9, 9), np.float32),))).planes[0]
    assert (one == kept).all() and (two != kept).any()


def test_prepare_again_for_another_format(random, random_model, backend):
    model = random_model(2)
    small, large = random.random((6, 5), np.float32), random.integers(0, 256, (12, 9), np.uint8)
    with Upscaler(2, model, backend) as step:
        step.prepare(Format(5, 6, 0))
        first = step.run(Frame((small,))).planes[0]
        step.prepare(Format(9, 12))
        assert step.run(Frame((large,))).planes[0].shape == (24, 18)
        step.close()
        step.prepare(Format(5, 6, 0))
        assert step.run(Frame((small,))).planes[0].tobytes() == first.tobytes()


@pytest.mark.slow
def test_planes_may_have_a_pitch_and_be_fixed(random, random_model, backend):
    model = random_model(2)
    plane = random.integers(0, 256, (13, 18), np.uint8)
    (wanted,) = enlarged(model, [plane], Format(18, 13), backend=backend)
    pitched = np.zeros((13, 64), np.uint8)
    pitched[:, :18] = plane
    fixed = pitched[:, :18]
    fixed.flags.writeable = False
    for layout in (pitched[:, :18], plane[::-1][::-1], np.asfortranarray(plane), fixed):
        (found,) = enlarged(model, [layout], Format(18, 13), backend=backend)
        assert found.tobytes() == wanted.tobytes()
    assert (pitched[:, :18] == plane).all()


COMPILED = """
import sys
import numpy as np
from snellen.aplus import differences, features, match, orientation, overlap, regress
from snellen.upscaling.upscaler import Upscaler
from snellen.cpu.compiled import Loop
from snellen.frames import bicubic, quantise
from snellen.frames.frame import Format, Frame

modules = (differences, features, match, orientation, overlap, regress, bicubic, quantise)
stages = [one for module in modules for one in vars(module).values() if isinstance(one, Loop)]
assert len(stages) == 12
for bits, width in ((8, 40), (8, 960), (8, 1000), (10, 1920), (0, 970)):
    format = Format(width, 9, bits, (1, 1))
    with Upscaler(2, sys.argv[1], "cpu") as step:
        step.prepare(format)
        before = [len(stage.types) for stage in stages]
        for fixed in (True, False):
            for pitch in (24, 0):
                planes = [np.zeros((h, w + pitch), format.dtype)[:, :w] for h, w in format.shapes]
                for plane in planes:
                    plane.flags.writeable = not fixed
                step.run(Frame(tuple(planes)))
                after = [len(stage.types) for stage in stages]
                assert after == before, (width, bits, fixed, pitch, before, after)
"""


@pytest.mark.slow
@pytest.mark.parametrize("format", [1, 2])
def test_run_compiles_nothing(random_model, tmp_path, format):
    """What `prepare` promises: the first frame is as quick as the others. In a fresh process."""
    model = random_model(2) if format == 1 else oriented_model(2)
    model.save(tmp_path / "m.safetensors")
    command = [sys.executable, "-c", COMPILED, str(tmp_path / "m.safetensors")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


def test_unprepared_and_closed_say_so(random_model, backend):
    frame = Frame((np.zeros((5, 5), np.uint8),))
    step = Upscaler(2, random_model(2), backend)
    with pytest.raises(InputError, match="call prepare"):
        step.run(frame)
    step.close()
    step.prepare(Format(5, 5))
    step.run(frame)
    step.close()
    step.close()
    with pytest.raises(InputError, match="call prepare"):
        step.run(frame)


@pytest.mark.parametrize(
    "planes",
    [
        [np.zeros((5, 6), np.uint8)],
        [np.zeros((6, 5), np.uint16)],
        [np.zeros((6, 5), np.float32)],
        [np.zeros((6, 5, 1), np.uint8)],
        [],
        [np.zeros((6, 5), np.uint8), np.zeros((3, 3), np.uint8), np.zeros((3, 3), np.uint8)],
    ],
)
def test_another_frame_than_prepared_for(random_model, planes, backend):
    with Upscaler(2, random_model(2), backend) as step:
        step.prepare(Format(5, 6))
        with pytest.raises(InputError, match="prepare again"):
            step.run(Frame(tuple(planes)))


def test_what_is_no_format_or_frame(random_model):
    array = np.zeros((6, 5), np.uint8)
    with Upscaler(2, random_model(2), "cpu") as step:
        with pytest.raises(InputError, match="got a tuple; expected a Format"):
            step.prepare((5, 6))
        step.prepare(Format(5, 6))
        with pytest.raises(InputError, match="got ndarray; expected a Frame"):
            step.run(array)
        with pytest.raises(InputError, match="a Frame of one array; expected a Frame of planes"):
            step.run(Frame(array))


def test_swapped_bytes_are_another_frame(random_model, backend):
    with Upscaler(2, random_model(2), backend) as step:
        step.prepare(Format(5, 6, 10))
        with pytest.raises(InputError, match="prepare again"):
            step.run(Frame((np.zeros((6, 5), np.dtype(np.uint16).newbyteorder()),)))


def test_bad_depth_is_refused_by_prepare(random_model, backend):
    with Upscaler(2, random_model(2), backend) as step:
        with pytest.raises(InputError, match="8 to 16"):
            step.prepare(Format(5, 6), bits=7)
        with pytest.raises(InputError, match="call prepare"):
            step.run(Frame((np.zeros((6, 5), np.uint8),)))


def test_the_door(random_model):
    with pytest.raises(ModelError, match="enlarges ×2; expected ×3"):
        Upscaler(3, random_model(2), "cpu")
    with pytest.raises(ModelError, match="neither a file nor one of"):
        Upscaler(2, "no-such-model")
    with pytest.raises(ModelError, match="got scale=5"):
        Upscaler(5)
    with pytest.raises(DeviceError, match="cannot be used"):
        Upscaler(2, random_model(2), device="cuda:99")
    with pytest.raises(DeviceError, match=r"got chroma=gpu, but luma .* CPU.*chroma=auto"):
        Upscaler(2, random_model(2), device="cpu", chroma="gpu")
    with pytest.raises(InputError, match="got chroma='both'; expected one of auto, cpu, gpu"):
        Upscaler(2, random_model(2), chroma="both")


def test_one_device_only(random_model, monkeypatch):
    monkeypatch.setattr(device, "why_not", lambda number=0: "")
    for several in ("cuda:0,cuda:1", ["cuda:1", "cuda:0"]):
        with pytest.raises(DeviceError, match="super-resolution cannot use several GPUs") as caught:
            Upscaler(2, random_model(2), device=several)
        assert caught.value.parameter == "device"
    assert Upscaler(2, random_model(2), device=["cpu"]).device == "cpu"


def test_the_cpu_keeps_nothing_on_a_gpu(random_model):
    with Upscaler(2, random_model(2), "cpu") as step:
        with pytest.raises(InputError, match=r"on_device=True.*on the CPU"):
            step.prepare(Format(5, 6), on_device=True)
        with pytest.raises(InputError, match="not prepared"):
            step.run(Frame((np.zeros((6, 5), np.uint8),)))


def test_stages_are_timed(random, random_model):
    format = Format(80, 61, 8, (1, 1))
    frame = Frame(tuple(random.integers(0, 256, shape, np.uint8) for shape in format.shapes))
    with Upscaler(2, random_model(2), "cpu") as step, profile.recording() as found:
        step.prepare(format)
        assert found.table() == {}
        again = step.run(frame).planes
        with profile.paused():
            wanted = step.run(frame).planes
    assert [plane.tobytes() for plane in again] == [plane.tobytes() for plane in wanted]
    table = found.table()
    assert set(table) == {
        "bicubic", "differences", "features", "match", "regress", "overlap", "chroma"
    }  # fmt: skip
    assert len(table["features"]) == len(table["match"]) == len(table["regress"]) >= 61
    assert all(time >= 0 for times in table.values() for time in times)


def test_settings_travel_to_a_worker(random, random_model, backend):
    """Before prepare an Upscaler can be pickled."""
    model = random_model(2)
    plane = random.random((8, 9), np.float32)
    (wanted,) = enlarged(model, [plane], Format(9, 8, 0), backend=backend)
    copy = pickle.loads(pickle.dumps(Upscaler(2, model, backend)))
    with copy:
        copy.prepare(Format(9, 8, 0))
        assert copy.run(Frame((plane,))).planes[0].tobytes() == wanted.tobytes()


def test_a_failing_stage_is_raised_and_the_next_frame_works(random_model, monkeypatch):
    def broken(*arguments):
        raise RuntimeError("a stage broke")

    with Upscaler(2, random_model(2), "cpu") as step:
        step.prepare(Format(6, 5))
        frame = Frame((np.full((5, 6), 9, np.uint8),))
        with monkeypatch.context() as patch:
            patch.setattr(cpu, "overlap", broken)
            with pytest.raises(RuntimeError, match="a stage broke"):
                step.run(frame)
        assert (step.run(frame).planes[0] == 9).all()
