"""Models by name and by method, and which models there are."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import snellen
from snellen.errors import InputError, ModelError
from snellen.files import tensors
from snellen.jobs import UpscaleJob
from snellen.upscaling import shipped
from snellen.upscaling.methods import name_of
from snellen.upscaling.models import load, read
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
def test_magnifications_that_no_model_has(scale, said):
    with pytest.raises(ModelError, match="expected one of 2, 3, 4") as caught:
        load(None, scale)
    assert ("upscale_file take others" in str(caught.value)) is said


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

    for strings, said in (({"format": "pt"}, "the format 'pt'"), ({}, "no f"), (None, "no f")):
        save_file({"a": np.ones(3)}, tmp_path / "a.safetensors", metadata=strings)
        with pytest.raises(ModelError, match=rf"a\.safetensors is .* not a model.* has {said}"):
            load(tmp_path / "a.safetensors", 2)


@pytest.mark.parametrize("format", ["snellen-aplus-3", "snellen-cnn-2", "snellen-other-1"])
def test_a_later_format_is_named(tmp_path, format):
    from safetensors.numpy import save_file

    save_file({"a": np.ones(3)}, tmp_path / "a.safetensors", metadata={"format": format})
    with pytest.raises(ModelError, match=rf"is a model: .*'{format}'; expected one of snell") as e:
        load(tmp_path / "a.safetensors", 2)
    assert "newer version" in e.value.advice and "not a model" not in str(e.value)


def test_what_is_no_ordinary_file_is_named(tmp_path, monkeypatch):
    (tmp_path / "device").symlink_to(os.devnull)
    (tmp_path / "lost").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    named = {
        "device": "a link to a device", "lost": "a link to a file that is not there",
        "pipe": "a pipe", os.devnull: "a device", "": "a folder",
    }  # fmt: skip
    for name, said in named.items():
        for given in (tmp_path / name, str(tmp_path / name)):
            with pytest.raises(ModelError, match=rf"is {said}; expected a file") as caught:
                load(given, 2)
            assert "aplus" not in str(caught.value).replace(str(tmp_path), "")


def test_other_files_are_named(tmp_path):
    for data, said in ((b"Notes\n" * 9, "is text"), (b"\x89PNG\r\n\x1a\n", "is a PNG image")):
        (tmp_path / "a").write_bytes(data)
        with pytest.raises(ModelError, match=rf"{said}; expected a model"):
            load(tmp_path / "a", 2)


@pytest.mark.parametrize("long", [False, True])
def test_too_many_arrays_are_refused_before_any_is_made(tmp_path, monkeypatch, long):
    """A header of 100,000 empty arrays takes seconds to make; it is counted first."""
    import safetensors.numpy

    def made(data):
        raise AssertionError("arrays are made")

    monkeypatch.setattr(safetensors.numpy, "load", made)
    count = 100_000 if long else tensors.MOST_TENSORS + 1
    empty = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    text = json.dumps({f"t{n}": empty for n in range(count)}).encode()
    (tmp_path / "a").write_bytes(len(text).to_bytes(8, "little") + text)
    said = r"its header has \d,\d+,\d+ bytes" if long else "it has 101 arrays"
    with pytest.raises(ModelError, match=rf"{said}; expected at most"):
        load(tmp_path / "a", 2)


def test_the_kinds_are_those_that_are_told_apart():
    assert shipped.SOURCES == ("clean", "film", "soft")


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
    assert name_of(default) == shipped.DEFAULT.partition("-")[0]


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_a_package_with_one_model_for_each_scale(scale, monkeypatch):
    only_2014(monkeypatch)
    assert shipped.offered(scale) == {("aplus", "clean"): f"t91-x{scale}"}
    assert shipped.methods() == ["aplus"] and shipped.kinds() == shipped.kinds(scale) == ["clean"]
    for method in (None, "auto", "aplus"):
        for source in (None, "auto", "clean"):
            assert shipped.choose(scale, method, source) == f"t91-x{scale}"
            assert load(None, scale, method, source) is load(f"t91-x{scale}", scale)
    for method, source in (("cnn-fast", None), (None, "film"), ("cnn-fine", "clean")):
        with pytest.raises(ModelError, match=rf"at ×{scale}; expected aplus for clean"):
            load(None, scale, method, source)


@pytest.mark.parametrize("word", [3, [], ("aplus",), np.array(["aplus"]), b"aplus", "\0"])
def test_what_is_no_text(word):
    for name in ("method", "source_kind"):
        with pytest.raises(InputError, match=f"{name}=") as caught:
            load(None, 2, **{name: word})
        assert caught.value.parameter == name


def test_every_method_has_a_model_for_every_source():
    pairs = {(method, kind) for method in shipped.METHODS for kind in shipped.SOURCES}
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
    with pytest.raises(
        ModelError, match=r"'cnn-fine' for .*; expected aplus for clean or aplus for"
    ):
        load(None, 2, "cnn-fine")


@pytest.mark.parametrize("method", ["esrgan", "A+", "cnn", ""])
def test_an_unknown_method_is_told_which_there_are_and_where_files_are_named(method, tmp_path):
    """By all functions alike; a result's method "cnn" is that of both networks."""
    files = {"source": tmp_path / "a.png", "target": tmp_path / "b.png"}
    image = np.zeros((8, 8), np.uint8)
    for call in (
        lambda: snellen.upscale(image, method=method),
        lambda: snellen.Upscaler(2, method=method),
        lambda: snellen.upscale_file(*files.values(), method=method),
        lambda: UpscaleJob(**files, method=method),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.parameter == "method"
        assert str(caught.value) == (
            f"got method={method!r}; expected one of auto, aplus, cnn-fast, cnn-fine; a model of "
            "your own is a file, as snellen train makes it: name that as model"
        )
    with pytest.raises(InputError, match="got method=3; expected one of auto, aplus"):
        snellen.upscale(image, method=3)
    assert snellen.upscale(image, method=np.str_("aplus")).shape == (16, 16)


@pytest.mark.parametrize(
    "given", [{"method": "aplus"}, {"source_kind": "clean"}, {"method": "auto"}]
)
def test_a_model_excludes_a_method(saved, given):
    (name,) = given
    with pytest.raises(InputError, match=f"got model and {name}='?{given[name]}") as caught:
        load(saved, 2, **given)
    assert caught.value.parameter == name
