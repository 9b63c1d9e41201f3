"""The registry of encoders: one entry makes one known everywhere, and nothing else names any."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

import snellen
from snellen.errors import InputError
from snellen.jobs import checkup
from snellen.video import losses
from snellen.video.clip import Clip
from snellen.video.convert import Encoding
from snellen.video.sink import hardware, registry
from snellen.video.sink.encoders import choose, formats
from snellen.video.sink.registry import Traits
from snellen.video.source.decode import Source
from support.video.clips import make

OWN = ("sink/registry.py", "sink/hardware.py")
"""Files of video/ that may name encoders."""
OTHERS = ("bench", "sources")
"""Folders whose measurements and material are of particular encoders."""
CODECS_TOO = {"ffv1", "mpeg4", "mpeg1video", "mpeg2video"}
"""Encoders that are called as their codecs, which sources have, too."""


@pytest.fixture(scope="module")
def picture(tmp_path_factory):
    source = Source(make(tmp_path_factory.mktemp("plain") / "in.mkv", frames=2), Clip())
    source.close()
    return source.info


@pytest.fixture
def made_up(monkeypatch):
    """One of FFmpeg's encoders that has no entry, with one."""
    known = Traits(
        codec="slush", common=True, crf=7, quality="qmin", constant={"qmin": "{}", "qmax": "{}"},
        worst=9, step=1, search=(1, 9, 1, 4), on_average=True, alpha=(), alpha_in=".nut",
        light=("screen", "levels"), even=True, on_cpu="ffv1", presets=("p1", "p2"),
        similar=("1", "2"),
    )  # fmt: skip
    monkeypatch.setitem(registry.ENCODERS, "snow", known)
    return known


def test_a_made_up_encoder_is_known_everywhere(picture, made_up, monkeypatch):
    info = picture.picture
    assert Encoding(codec="slush").codec == "snow"
    chosen = choose(info, "matroska", Encoding(codec="slush"))
    assert (chosen.options["qmin"], chosen.options["qmax"]) == ("7", "7")
    chosen = choose(info, "matroska", Encoding("snow", crf=3, max_bitrate="1M"))
    assert (chosen.options["qmin"], chosen.options["b"]) == ("3", "1000000")
    with pytest.raises(InputError, match=r"snow expects p1 .fastest. to p2"):
        choose(info, "matroska", Encoding("snow", preset="medium"))
    with pytest.raises(InputError, match=r"expected one of .*, snow"):
        choose(info, "matroska", Encoding("ffv1", target_mad=1))
    with pytest.raises(InputError, match=r"no encoder here; expected e\.g\. libx264, "):
        formats("slush")
    assert "snow 7" in registry.defaults(lambda one: one.crf)
    assert "snow" in registry.names(lambda one: one.common)
    clear = replace(info, alpha=True, opaque=False)
    lost = losses.without_alpha(replace(picture, picture=clear), possible=True).picture.losses
    assert "snow in .nut" in lost[-1]
    monkeypatch.setattr(hardware, "probe", lambda *_: "no driver")
    found, _ = hardware.replacement(chosen, info.format, Encoding("snow", "p2"))
    assert (found.codec, found.preset) == ("ffv1", "2")


def test_the_doctor_tries_it(made_up, monkeypatch):
    monkeypatch.setattr(checkup, "_encoder", str.upper)
    for name in ("_kernels", "_models", "_compiler"):
        monkeypatch.setattr(checkup, name, dict)
    assert checkup.checkup()["encoders"]["snow"] == "SNOW"


def test_nothing_else_names_encoders():
    """A name in a string of code, docstrings left out."""
    root = Path(snellen.__file__).parent
    known = registry.ENCODERS.keys() - CODECS_TOO
    found = []
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root)
        if place.parts[0] in OTHERS or str(place).endswith(OWN):
            continue
        nodes = list(ast.walk(ast.parse(path.read_text())))
        alone = {id(one.value) for one in nodes if isinstance(one, ast.Expr)}
        for one in nodes:
            if isinstance(one, ast.Constant) and id(one) not in alone:
                words = set(re.findall(r"[\w-]+", str(one.value)))
                found += [f"{place}: {name}" for name in known & words]
    assert not found
