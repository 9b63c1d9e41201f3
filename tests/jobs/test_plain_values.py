"""Public values hold Python's own numbers and texts, whatever library those given are of."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType, NoneType

import numpy as np
import pytest

import snellen
from snellen import jobs
from snellen.errors import InputError
from snellen.mad.definition import Definition
from snellen.mia.definition import Definition as MiaDefinition
from snellen.video.clip import rate, seconds

PLAIN = (str, int, float, bool, NoneType)
FILES = {"source": "a.mkv", "target": "b.mkv"}
U8, I8, F16, TRUE = np.uint8, np.int8, np.float16, np.bool_(True)

GIVEN = [
    (jobs.UpscaleJob, FILES | {"scale": F16(2.5), "threads": U8(200), "quality": U8(90),
                               "max_pixels": U8(200), "workers": U8(2), "strict": TRUE}),
    (jobs.UpscaleJob, FILES | {"size": (np.uint16(64), U8(64)), "profile": TRUE}),
    (jobs.UpscaleJob, FILES | {"height": np.int16(1080), "model": np.str_("a.safetensors")}),
    (jobs.DeblurJob, FILES | {"window": I8(3), "warm": TRUE, "threads": np.int16(9)}),
    (jobs.ScoreJob, {"reference": "a.mkv", "distorted": "b.mkv", "offset": I8(-3), "every": U8(7),
                     "worst": U8(2), "data_range": F16(1), "resize": TRUE}),
    (jobs.CompareJob, {"reference": "a.png", "variants": ("b.png",), "target": "r.html",
                       "pictures": U8(9), "report_size": F16(30), "every": U8(2)}),
    (jobs.TrainJob, {"images": "a", "target": "b.safetensors", "threads": U8(3),
                     "notes": MappingProxyType({np.str_("author"): np.str_("me")})}),
    (jobs.VideoOptions, {"fps": Fraction(np.uint8(24), np.uint8(1))}),
    (jobs.Clip, {"start": U8(200), "duration": F16(2.5), "frames": U8(9), "ivtc": TRUE,
                 "map": (np.str_("0:v"),)}),
    (jobs.Clip, {"start": Fraction(np.int64(1), np.int64(3)), "deinterlace": TRUE}),
    (jobs.Encoding, {"codec": np.str_("libx264"), "crf": U8(18), "max_bitrate": np.int32(10**6),
                     "options": MappingProxyType({np.str_("tune"): np.str_("film")})}),
    (jobs.Encoding, {"crf": Fraction(37, 2)}),
    (jobs.Encoding, {"target_mad": F16(1.5), "target_pool": np.str_("rms")}),
    (jobs.Enhancement, {"grain": F16(3), "grain_seed": U8(200), "sharpen": F16(0.5)}),
    (jobs.Enhancement, {"deblur": np.full((3, 3), 1 / 9, np.longdouble), "deband": TRUE}),
    (jobs.MiaSettings, {"psf_size": U8(31), "iterations": U8(200), "tolerance": F16(0.01),
                        "tv": F16(0.001), "recentre": TRUE, "psf_start": F16(2)}),
    (jobs.MadSettings, {"hi_scale": F16(200), "eight_bit_lut": TRUE}),
    (jobs.Region, {"width": U8(200), "height": U8(200), "x": U8(200), "y": I8(100)}),
    (jobs.Region, {"width": 8, "height": 8, "positions": ((U8(200), I8(2)),)}),
    (jobs.Settings, {"scale": U8(2), "anchors": np.int16(1024), "energy": F16(0.5),
                     "ridge": U8(1)}),
    (jobs.NetworkSettings, {"scale": U8(2), "steps": U8(200), "network": np.str_("fine")}),
    (snellen.Format, {"width": U8(200), "height": U8(200), "bits": U8(10), "full_range": TRUE,
                      "subsampling": (U8(1), U8(1)), "siting": (F16(0.5), F16(0.5))}),
    (Definition, {"hi_scale": F16(10), "eight_bit_lut": TRUE}),
    (MiaDefinition, {"read_noise": F16(0.5), "blind": TRUE, "tv": F16(0)}),
]  # fmt: skip


def foreign(value):
    """Yield what is not of Python's own types in a value, however deep."""
    if is_dataclass(value):
        for field in fields(value):
            yield from foreign(getattr(value, field.name))
    elif type(value) in (tuple, dict):
        for one in value.items() if isinstance(value, dict) else value:
            yield from foreign(one)
    elif type(value) is Fraction:
        yield from foreign((value.numerator, value.denominator))
    elif type(value) not in PLAIN and not isinstance(value, Path):
        yield value


@pytest.mark.cases(12)
@pytest.mark.parametrize(("kind", "given"), GIVEN, ids=lambda one: getattr(one, "__name__", ""))
def test_they_are_pythons_own(kind, given):
    made = kind(**given)
    assert not list(foreign(made))
    for name, value in given.items():
        if type(value) in (np.uint8, np.int8, np.int16, np.float16, np.bool_):
            assert getattr(made, name) == value or name == "deinterlace"
    if isinstance(made, jobs.Job):
        assert jobs.Job.from_json(made.to_json()) == made


def test_times_of_a_frame():
    frame = snellen.Frame((), np.uint8(200), np.int16(3))
    assert not list(foreign((frame.pts, frame.duration))) and (frame.pts, frame.duration) == (
        200,
        3,
    )
    with pytest.raises(InputError, match="pts"):
        snellen.Frame((), 1.5)


def test_settings_of_a_class():
    given = {"iterations": U8(200), "every": U8(200), "batch": U8(3), "frames": I8(2)}
    step = snellen.Deblurrer(**given, warm=TRUE, history=TRUE, tolerance=F16(0.5), device="cpu")
    assert not list(foreign((step._how, step._counts, step.warm, step.definition, step.side)))
    assert step.warm is True and step._counts == (3, 2)


def test_a_frame_rate_and_a_time():
    assert not list(foreign((rate(U8(25)), rate(F16(12.5)), seconds(U8(200), "start"))))
    assert rate(F16(12.5)) == Fraction(25, 2)
    assert 2 * seconds(U8(200), "start") == 400  # which uint8 does not hold


@pytest.mark.parametrize("value", [np.uint8(0), np.int8(-1), np.float16(2), np.array(2), TRUE, U8])
def test_no_number_of_threads(value):
    with pytest.raises(InputError, match="threads") as caught:
        jobs.UpscaleJob(**FILES, threads=value)
    assert caught.value.parameter == "threads"


def test_small_numbers_do_not_overflow(tmp_path):
    """200 threads are 288 buffers of a pool, and max_pixels is compared with products."""
    from PIL import Image

    source = tmp_path / "a.png"
    Image.new("L", (12, 12), 99).save(source)
    result = snellen.upscale_file(
        source, tmp_path / "b.png", device="cpu", threads=np.uint8(200), max_pixels=np.uint8(200)
    )
    assert (result.width, result.height) == (24, 24)


class Broken(dict):
    def items(self):
        raise RuntimeError("no answer")


@pytest.mark.parametrize("options", [Broken(a="b"), {1: "a"}, {"a": 1}, {"a": "\0"}, ["a"], "a=b"])
def test_options_are_a_mapping_of_texts(options):
    with pytest.raises(InputError, match="encoder_options"):
        jobs.Encoding(options=options)
    with pytest.raises(InputError, match="encoder_options"):
        snellen.upscale_file(**FILES, encoder_options=options)


@pytest.mark.parametrize("name", ["done", "begin"])
def test_what_is_called_can_be_called(name):
    with pytest.raises(InputError, match=name):
        jobs.run_several((), **{name: "no function"})
