"""A conversion that must be refused; and where other processes find the tests' modules."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snellen.errors import InputError
from snellen.video.convert import Encoding
from support.video.converting import convert
from support.video.steps import Nearest

FAST = Encoding(preset="ultrafast")

PATHS = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
"""PYTHONPATH of other processes: the tests' modules, and the code where we find it."""


def refused(source, target, match, error=InputError, **settings):
    step = Nearest()
    with pytest.raises(error, match=match):
        convert(source, target, step, **{"encoding": FAST, **settings})
    return step
