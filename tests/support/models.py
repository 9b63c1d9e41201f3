"""A package with more models than ours."""

from __future__ import annotations

from snellen.upscaling import shipped


def add_models(monkeypatch, folder, models):
    """Let the package have further models, name → model, from two folders."""
    for name, model in models.items():
        place = folder / name.partition("-")[0]
        place.mkdir(exist_ok=True)
        model.save(place / f"{name}.safetensors")
    folders = (*shipped._FOLDERS, *sorted(folder.iterdir()), folder / "none")
    monkeypatch.setattr(shipped, "_FOLDERS", folders)
    monkeypatch.setattr(shipped, "files", shipped.files.__wrapped__)  # which keeps what it found
