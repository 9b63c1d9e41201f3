"""Which model a job works with, and what its result says of it."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.errors import InputError, ModelError
from snellen.jobs import Job, UpscaleJob, run
from snellen.jobs.kinds import choice
from snellen.jobs.kinds.choice import Models
from snellen.sources.kind import Kind
from support.cnn import reference
from support.models import add_models, only_2014
from support.video.clips import make as make_film

NAMES = ("aplus-film-x2", "aplus-soft-x2", "cnn-fast-clean-x2", "cnn-fast-film-x2",
         "aplus-clean-x3")  # fmt: skip


@pytest.fixture
def more(random, random_model, tmp_path, monkeypatch):
    """Further models of the package, and what is found out of any film."""
    folder = tmp_path / "models"
    folder.mkdir()
    models = {
        name: (random_model if name.startswith("aplus") else make(random))(int(name[-1]))
        for name in NAMES
    }
    add_models(monkeypatch, folder, models)
    found = []

    def decide(planes, codec, bits, noisy):
        found.append((len(planes), codec))
        return Kind("soft", "sharpness -1.00 is under -0.6", -1.0)

    monkeypatch.setattr(choice, "decide", decide)
    return found


def make(random):
    return lambda scale: reference.model(random, scale)


def used(scale, *arguments):
    """Name and kind of the model for a magnification."""
    found = Models(*arguments)
    assert found(scale).scale == scale
    said = found.said()
    return said["model"], said["source_kind"]


def test_ours_is_that_of_2014(clip, monkeypatch):
    """With one model for each scale, no film is looked at."""
    only_2014(monkeypatch)
    for film in (None, clip, clip.with_name("none.mkv")):
        assert used(2, None, None, None, film) == ("t91-x2", "clean")


def test_images_are_clean_and_films_are_looked_at(more, clip):
    assert used(2, None, None, None)[0] == "t91-x2"
    assert used(2, None, "auto", "auto")[0] == "t91-x2" and not more
    soft = "soft: sharpness -1.00 is under -0.6"
    for kind in (None, "auto"):
        assert used(2, None, None, kind, clip) == ("aplus-soft-x2", soft)
    assert [codec for _, codec in more] == ["rawvideo"] * 2
    said = "film: soft, for which there is no model; sharpness -1.00 is under -0.6"
    assert used(2, None, "cnn-fast", None, clip) == ("cnn-fast-film-x2", said)
    more.clear()
    assert used(3, None, None, None, clip)[0] == "aplus-clean-x3" and not more


def test_several_magnifications_are_one_choice(more, clip):
    found = Models(None, None, None, clip)
    for scale in (2, 3, 2):
        assert found(scale).scale == scale
    said = found.said()
    assert (said["model"], said["method"]) == ("aplus-soft-x2, aplus-clean-x3", "aplus")
    assert len(more) == 1


def test_what_is_said_is_done(more, clip):
    assert used(2, None, None, "film", clip) == ("aplus-film-x2", "film")
    assert used(2, None, "cnn-fast", "clean", clip)[1] == "clean" and not more
    assert used(2, "t91-x2", None, None, clip) == ("t91-x2", None)
    pipe = used(2, None, None, None, type(clip)("-"))
    assert pipe == ("aplus-film-x2", "film: a pipe cannot be looked at beforehand")
    frames = used(2, None, None, None, clip.parent / "%05d.png")
    assert frames == ("t91-x2", "clean: pictures in files of their own")
    with pytest.raises(ModelError, match="source_kind='soft' at ×2; expected") as caught:
        used(2, None, "cnn-fast", "soft", clip)
    assert caught.value.parameter == "source_kind"
    with pytest.raises(ModelError, match="method='cnn-fine'"):
        used(2, None, "cnn-fine", None, clip)


def test_fields(clip, tmp_path):
    files = {"source": clip, "target": tmp_path / "a.mkv"}
    for given in ({"method": "aplus"}, {"source_kind": "clean"}, {"method": "auto"}):
        job = UpscaleJob(**files, **given)
        assert Job.from_json(job.to_json()) == job
        (name,) = given
        with pytest.raises(InputError, match=f"got model and {name}=") as caught:
            UpscaleJob(**files, **given, model="t91-x2")
        assert caught.value.parameter == name
        with pytest.raises(InputError, match=f"got {name}='best'; expected one of auto"):
            UpscaleJob(**files, **{name: "best"})


@pytest.mark.slow
def test_results_name_the_model(more, clip, picture, saved, tmp_path, heard, random):
    image = saved("a.png", picture())
    pixels = []
    for method, name in ((None, "t91-x2"), ("cnn-fast", "cnn-fast-clean-x2")):
        job = UpscaleJob(source=image, target=tmp_path / f"{name}.png", method=method, device="cpu")
        found = run(job, heard)
        assert (found.model, found.source_kind) == (name, "clean")
        assert found.method == ("aplus" if method is None else "cnn")
        pixels.append(found.target.read_bytes())
    assert pixels[0] != pixels[1]
    for method, kind, name in ((None, None, "aplus-soft-x2"), ("cnn-fast", "clean", None)):
        job = UpscaleJob(
            source=clip, target=tmp_path / f"{method}.mkv", method=method, source_kind=kind,
            device="cpu",
        )  # fmt: skip
        found = run(job, heard)
        assert found.model == (name or "cnn-fast-clean-x2")
        assert found.source_kind.partition(":")[0] == (kind or "soft")
    net = tmp_path / "net.safetensors"
    reference.model(np.random.default_rng(3), 2).save(net)
    job = UpscaleJob(source=image, target=tmp_path / "n.png", model=net, device="cpu")
    found = run(job, heard)
    assert (found.model, found.method, found.source_kind) == (str(net), "cnn", None)


@pytest.mark.parametrize(
    ("denoise", "kind"),
    [(None, "clean"), ("strong", "clean"), ("light", "film"), ("medium", "film")],
)
def test_bits_of_noise_make_no_film_clean(tmp_path, denoise, kind):
    """A film without loss is clean; with a denoiser that leaves noise it is not."""
    film = make_film(tmp_path / "in.mkv", codec="ffv1", frames=2)
    found = Models(None, None, None, film, denoise=denoise)
    found(2)
    assert found.said()["source_kind"].partition(":")[0] == kind
    assert ("noise" in found.said()["source_kind"]) == (kind == "film")
