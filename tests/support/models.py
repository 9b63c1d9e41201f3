"""A package with other models than ours: tests do not depend on which of them ship."""

from __future__ import annotations

from snellen.upscaling import shipped


def only_2014(monkeypatch):
    """Let the package have A+ of 2014 only, at every scale."""
    kept = {shipped.OF_2014.format(scale) for scale in shipped.SCALES}
    found = {name: path for name, path in shipped.files().items() if name in kept}
    monkeypatch.setattr(shipped, "files", lambda: found)
    monkeypatch.setattr(shipped, "DEFAULT", "aplus")


def add_models(monkeypatch, folder, models):
    """Let the package have these, name → model, beside A+ of 2014."""
    only_2014(monkeypatch)
    found = dict(shipped.files())
    for name, model in models.items():
        found[name] = folder / f"{name}.safetensors"
        model.save(found[name])
    monkeypatch.setattr(shipped, "files", lambda: found)
