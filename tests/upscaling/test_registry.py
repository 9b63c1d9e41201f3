"""A made-up method: one entry for its package, one for its title, and all enlarging takes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import snellen
from snellen.errors import ModelError
from snellen.upscaling import methods, models, shipped
from snellen.upscaling.methods import Method


@dataclass(frozen=True, eq=False)
class Model:
    """A model that repeats samples."""

    scale: int = 2
    digest: str = "made up"
    about: dict[str, Any] = field(default_factory=dict)


class Luma:
    def __init__(self, model, source, target):
        self._scale = model.scale

    def tasks(self, pool, plane, out):
        return [pool.submit(np.copyto, out, plane.repeat(self._scale, 0).repeat(self._scale, 1))]

    def close(self):
        pass


@pytest.fixture
def nearest(monkeypatch):
    method = Method(
        model=Model, formats={"snellen-nearest-1": lambda path, strings, arrays: Model()},
        reach=lambda model: 0, on_cpu=Luma, on_gpu=Luma,
    )  # fmt: skip
    monkeypatch.setitem(methods.METHODS, "nearest", method)
    monkeypatch.setitem(shipped.TITLES, "nearest", "nearest neighbour")


def test_a_made_up_method_is_known_everywhere(nearest, tmp_path, random):
    file = tmp_path / "mine.safetensors"
    save_file({"x": np.zeros(1, np.float32)}, file, {"format": "snellen-nearest-1"})
    model = models.load(file, 2)
    assert methods.name_of(model) == "nearest" and models.scales_of(model) == (2,)
    picture = random.integers(0, 256, (9, 7), np.uint8)
    for given in (file, model):
        large = snellen.upscale(picture, 2, given, device="cpu")
        assert (large == picture.repeat(2, 0).repeat(2, 1)).all()
    with pytest.raises(ModelError, match="the model enlarges ×2; expected ×3"):
        models.load(file, 3)


def test_every_package_has_a_title_and_models():
    assert methods.METHODS.keys() == shipped.TITLES.keys()
    of = {methods.name_of(models.read(path)) for path in shipped.files().values()}
    assert of == methods.METHODS.keys()
    assert {name.partition("-")[0] for name in shipped.METHODS} == of
