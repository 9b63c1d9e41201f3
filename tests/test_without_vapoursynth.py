"""snellen.vapoursynth where VapourSynth is not installed."""

from __future__ import annotations

import sys

import pytest

import snellen.vapoursynth


def test_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "vapoursynth", None)
    for function in (snellen.vapoursynth.upscale, snellen.vapoursynth.deblur):
        with pytest.raises(ImportError, match=r"snellen\[vapoursynth\].*3\.12") as caught:
            function(None)
        assert caught.value.name == "vapoursynth"
