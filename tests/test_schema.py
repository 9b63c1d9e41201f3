"""An option is a field: the command, the functions and their types follow from it."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
import typing
from dataclasses import dataclass
from pathlib import Path

import pytest

import snellen
from snellen.cli.deblur import deblur
from snellen.cli.options import key
from snellen.cli.upscale import upscale
from snellen.errors import InputError
from snellen.frames.values import check_options
from snellen.jobs import DeblurJob, UpscaleJob
from snellen.schema import named, nested, option, parameters
from support import keywords
from support.video.clips import make

ROOT = Path(snellen.__file__).parent
FUNCTIONS = {UpscaleJob: snellen.upscale_file, DeblurJob: snellen.deblur_file}
COMMANDS = {UpscaleJob: upscale, DeblurJob: deblur}


def test_the_types_of_keywords_are_up_to_date():
    """Else run `python tests/support/keywords.py`."""
    assert keywords.FILE.read_text(encoding="utf-8") == keywords.text()


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_functions_have_the_defaults_of_the_fields(kind):
    found = inspect.signature(FUNCTIONS[kind]).parameters
    text = FUNCTIONS[kind].__doc__
    for name, one in parameters(kind).items():
        assert (name, found[name].default) == (name, one.default)
        assert f"\n{name} : " in text
    assert "**options" not in text


@pytest.mark.parametrize("kind", COMMANDS)
def test_commands_have_the_fields(kind):
    options = {one.name: one for one in COMMANDS[kind].params}
    for one in parameters(kind).values():
        assert (key(one) in options) == one.about.command
        assert one.about.help.endswith(".") and not one.about.unset.endswith(".")


@pytest.mark.parametrize(
    "function",
    [snellen.upscale_file, snellen.upscale_files, snellen.deblur_file, snellen.deblur_files],
)
def test_what_is_no_parameter(function):
    expected = rf"{function.__name__}\(\) got an unexpected keyword argument 'colours'"
    with pytest.raises(TypeError, match=expected):
        function("a.png", colours=3)
    with pytest.raises(TypeError, match=r"'max_pixel'\. Did you mean 'max_pixels'\?$"):
        function("a.png", max_pixel=3)
    with pytest.raises(TypeError, match=r"'xyz'$"):
        function("a.png", xyz=3)


@pytest.mark.parametrize("name", [one for one in snellen.__all__ if "_file" in one])
def test_types_of_functions_for_files_are_found_when_they_run(name):
    hints = typing.get_type_hints(getattr(snellen, name))
    assert typing.get_origin(hints["options"]) is typing.Unpack


def test_options_come_into_the_dataclasses_that_hold_them():
    given = {"crf": 20, "start": "1:30", "scale": 3, "encoder_options": {"tune": "film"}}
    job = UpscaleJob(source="a.mkv", target="b.mkv", **nested(UpscaleJob, given))
    assert (job.video.encoding.crf, job.video.clip.start, job.scale) == (20, 90, 3)
    assert sorted(named(job)) == sorted(given)
    assert named(job, "video") == ("start", "crf", "encoder_options")


@dataclass(frozen=True)
class Made:
    count: int | None = option(None, "Some.", least=1, most=9)
    many: int = option(0, "Many.", least=0)
    word: str = option("a", "A word.", choices=("a", "b"))
    text: str = option("", "A text.")

    def __post_init__(self):
        check_options(self)


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"count": 1}, ""), ({"count": 9, "word": "b", "many": 2**31 - 1, "text": "c"}, ""),
        ({"count": 0}, "got `count`=0; expected a whole number, 1 to 9"),
        ({"count": 10}, "1 to 9"), ({"many": -1}, "0 or more"), ({"many": None}, "0 or more"),
        ({"many": 2**31}, "0 to 2147483647"), ({"word": "c"}, "expected one of a, b"),
    ],
)  # fmt: skip
def test_values_are_checked_as_fields_say(given, message):
    if not message:
        assert all(getattr(Made(**given), name) == value for name, value in given.items())
        return
    with pytest.raises(InputError) as caught:
        Made(**given)
    assert message in caught.value.message and caught.value.parameter == next(iter(given))


PROGRAM = """
import inspect, json, sys
from pathlib import Path
import snellen
from snellen.cli.upscale import upscale
from snellen.jobs import Clip, Enhancement, Job, UpscaleJob
from snellen.jobs.kinds.enhance import add_steps
from snellen.jobs.kinds.enhance_line import Line
from snellen.schema import named
from snellen.video.source.decode import Source

options = [one for one in upscale.params if one.name == "mirror"]
job = UpscaleJob(source="a.mkv", target="b.mkv", enhancement=Enhancement(mirror=True))
source = Source(Path(sys.argv[1]), Clip())
line = Line(source.info, print)
add_steps(job.enhancement, line)
source.close()
print(json.dumps({
    "option": options[0].opts, "help": options[0].help, "named": named(job),
    "parameter": "mirror" in inspect.signature(snellen.upscale_file).parameters,
    "same": Job.from_json(job.to_json()) == job, "steps": [one.traits.label for one in line.steps],
}))
"""


def test_a_filter_with_a_name_touches_two_files(tmp_path):
    """A made-up one: its field, with its chain, and the keywords, which a program writes."""
    copy = tmp_path / "src" / "snellen"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("models", "__pycache__"))
    for models in ROOT.glob("*/models"):
        (copy / models.relative_to(ROOT)).symlink_to(models)
    field = '    mirror: bool = option(False, "Turn pictures around.", step=named("hflip"))\n'
    file = copy / "jobs" / "kinds" / "enhance.py"
    text = file.read_text(encoding="utf-8")
    assert text.count("    denoise: str | None = option(") == 1
    file.write_text(
        text.replace(
            "    denoise: str | None = option(", field + "    denoise: str | None = option("
        ),
        "utf-8",
    )
    film = make(tmp_path / "in.mkv", codec="ffv1", frames=2, size=(64, 48))

    def run(*words):
        variables = {**os.environ, "PYTHONPATH": str(copy.parent)}
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, check=True, env=variables,
            timeout=120,
        )  # fmt: skip
        return done.stdout

    run(keywords.__file__)
    changed = [
        one.relative_to(copy)
        for one in copy.rglob("*.py")
        if one.read_bytes() != (ROOT / one.relative_to(copy)).read_bytes()
    ]
    assert sorted(map(str, changed)) == ["jobs/kinds/enhance.py", "jobs/options/keywords.py"]
    found = json.loads(run("-c", PROGRAM, film).splitlines()[-1])
    assert found == {
        "option": ["--mirror"], "help": "Turn pictures around.", "named": ["mirror"],
        "parameter": True, "same": True, "steps": ["mirror"],
    }  # fmt: skip
