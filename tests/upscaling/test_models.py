"""Models by name and by method, and which models there are."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.errors import InputError, ModelError
from snellen.frames import tensors
from snellen.sources.kind import KINDS
from snellen.upscaling import shipped
from snellen.upscaling.models import load, method_of, read
from support.models import add_models, only_2014


@pytest.fixture
def saved(random_model, tmp_path):
    path = tmp_path / "m.safetensors"
    random_model(2).save(path)
    return path


@pytest.fixture
def more(random_model, tmp_path, monkeypatch):
    """A package with further models."""
    names = ("aplus-film-x2", "aplus-clean-x3", "cnn-fast-soft-x2", "cnn-fine-film-x2", "other-x2")
    models = {name: random_model(int(name[-1]), seed=len(name)) for name in names}
    add_models(monkeypatch, tmp_path, models)


def test_a_model_is_taken_as_it_is(random_model):
    model = random_model(3)
    assert load(model, 3) is model
    with pytest.raises(ModelError, match=r"enlarges ×3; expected ×2; give scale=3"):
        load(model, 2)


def test_the_same_file_is_the_same_object(saved, random_model):
    first = load(saved, 2)
    assert load(str(saved), 2) is first and read(saved) is first
    random_model(2, anchors=25).save(saved)
    assert len(load(saved, 2).anchors) == 25


@pytest.mark.parametrize(("scale", "said"), [(1.5, True), (5, True), (0.5, False)])
def test_magnifications_that_only_files_take(scale, said):
    with pytest.raises(ModelError, match="expected one of 2, 3, 4") as caught:
        load(None, scale)
    assert ("upscale_file takes others" in str(caught.value)) is said


def test_another_scale_than_asked_for(saved):
    with pytest.raises(ModelError, match="enlarges ×2; expected ×4"):
        load(saved, 4)


@pytest.mark.parametrize("name", ["no-such", "no/such.safetensors", "", "t91-x2.safetensors"])
def test_unknown_names(name, tmp_path, monkeypatch):
    only_2014(monkeypatch)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="neither a file nor one of t91-x2, t91-x3, t91-x4"):
        load(name, 2)


@pytest.mark.parametrize("scale", [0, 1, 5, -2, 2.5, "2"])
def test_no_model_of_ours_for_other_scales(scale):
    with pytest.raises(ModelError, match=r"got scale=.*; expected one of 2, 3, 4"):
        load(None, scale)


def test_a_file_of_another_format(tmp_path, random_model):
    from safetensors.numpy import save_file

    for strings in ({"format": "snellen-aplus-9"}, {}, None):
        save_file({"a": np.ones(3)}, tmp_path / "a.safetensors", metadata=strings)
        with pytest.raises(ModelError, match=r"a\.safetensors is .* not a model \(snellen-"):
            load(tmp_path / "a.safetensors", 2)


def test_the_kinds_are_those_that_are_told_apart():
    assert shipped.SOURCES == KINDS


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_each_model_of_the_package_is_what_its_name_says(scale):
    names = [name for name in shipped.files() if name.endswith(f"-x{scale}")]
    offered = shipped.offered(scale)
    assert set(names) == {f"t91-x{scale}", *offered.values()}
    for (method, source), name in offered.items():
        strings, _ = tensors.read(shipped.files()[name])
        assert strings["scale"] == str(scale)
        assert strings["format"].startswith(f"snellen-{method.partition('-')[0]}-")
        assert strings.get("source", strings.get("pack_source", "clean")) == source
        assert not any("/tmp/" in text or "/root/" in text for text in strings.values())
    default = load(None, scale)
    assert default is load(None, scale, shipped.DEFAULT, "clean") and default.scale == scale
    assert method_of(default) == shipped.DEFAULT.partition("-")[0]


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_a_package_with_one_model_for_each_scale(scale, monkeypatch):
    only_2014(monkeypatch)
    assert shipped.offered(scale) == {("aplus", "clean"): f"t91-x{scale}"}
    assert shipped.methods() == ["aplus"] and shipped.kinds() == shipped.kinds(scale) == ["clean"]
    for method in (None, "auto", "aplus"):
        for source in (None, "auto", "clean"):
            assert shipped.choose(scale, method, source) == f"t91-x{scale}"
            assert load(None, scale, method, source) is load(f"t91-x{scale}", scale)
    for method, source in (("cnn-fast", None), ("other", None), (None, "film"), ("", "clean")):
        with pytest.raises(ModelError, match=rf"at ×{scale}; expected aplus for clean"):
            load(None, scale, method, source)


@pytest.mark.parametrize("word", [3, [], ("aplus",), np.array(["aplus"]), b"aplus", "\0"])
def test_what_is_no_text(word):
    for name in ("method", "source_kind"):
        with pytest.raises(InputError, match=f"{name}=") as caught:
            load(None, 2, **{name: word})
        assert caught.value.parameter == name


def test_every_method_has_a_model_for_every_source():
    pairs = {(method, kind) for method in shipped.METHODS for kind in KINDS}
    for scale in shipped.SCALES:
        assert set(shipped.offered(scale)) == pairs


def test_models_that_are_added_are_offered(more):
    assert shipped.methods() == ["aplus", "cnn-fast", "cnn-fine"]
    assert shipped.kinds() == ["clean", "film", "soft"]
    assert shipped.kinds(2, "auto") == ["clean", "film"] and shipped.kinds(3, "cnn-fast") == []
    assert shipped.offered(2) == {
        ("aplus", "clean"): "t91-x2", ("aplus", "film"): "aplus-film-x2",
        ("cnn-fast", "soft"): "cnn-fast-soft-x2", ("cnn-fine", "film"): "cnn-fine-film-x2",
    }  # fmt: skip
    assert shipped.choose(3) == "aplus-clean-x3" and shipped.choose(2) == "t91-x2"
    assert shipped.choose(2, "auto", "film") == "aplus-film-x2"
    assert load(None, 2, "cnn-fast", "soft") is load("cnn-fast-soft-x2", 2)
    assert load("other-x2", 2).scale == 2
    with pytest.raises(
        ModelError, match="method='cnn-fast' for source_kind='clean' at ×2"
    ) as caught:
        load(None, 2, "cnn-fast")
    assert caught.value.parameter == "source_kind"
    with pytest.raises(ModelError, match="'foo'; expected one of auto, clean, film, soft"):
        load(None, 2, None, "foo")
    with pytest.raises(ModelError, match=r"method='no' .*; expected aplus for clean or aplus for"):
        load(None, 2, "no")


@pytest.mark.parametrize(
    "given", [{"method": "aplus"}, {"source_kind": "clean"}, {"method": "auto"}]
)
def test_a_model_excludes_a_method(saved, given):
    (name,) = given
    with pytest.raises(InputError, match=f"got model and {name}='?{given[name]}") as caught:
        load(saved, 2, **given)
    assert caught.value.parameter == name
