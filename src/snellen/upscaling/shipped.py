"""The models of this package, by their names: `METHOD-SOURCE-xSCALE`, as `cnn-fast-film-x2`.

What can be chosen is what lies here: a model that is added is offered by its name.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal, get_args

from snellen.errors import InputError, ModelError, quoted

TITLES = {"aplus": "A+", "cnn": "compact network"}
"""The name of each method's package → its name in messages; methods.py has what it computes."""

Method = Literal["auto", "aplus", "cnn-fast", "cnn-fine"]
"""The values of `method`, for type checkers: of a package, one or several kinds of models."""
SourceKind = Literal["auto", "clean", "film", "soft"]
"""The values of `source_kind`; snellen.sources.kind finds which one a film is."""

AUTO = "auto"
METHODS: tuple[str, ...] = get_args(Method)[1:]
SOURCES: tuple[str, ...] = get_args(SourceKind)[1:]
SCALES = (2, 3, 4)
"""Magnifications that models exist for."""
FITS = ("pad", "crop", "stretch")
"""How a picture of another shape becomes exactly a size."""
CHROMA = ("auto", "cpu", "gpu")
"""Where chroma is enlarged if a GPU enlarges luma."""
DEFAULT = "cnn-fine"  # what `method`=auto means: docs/benchmarks/quality.md
OF_2014 = "t91-x{}"  # A+ as it was published, which is CLASSIC where there is no other model
CLASSIC = ("aplus", "clean")

WORDS = {"method": METHODS, "source_kind": SOURCES}
OWN = "a model of your own is a file, as snellen train makes it: name that as `model`"

_ROOT = Path(__file__).parents[1]


@cache
def files() -> dict[str, Path]:
    """Return the model files: name → path."""
    paths = [path for name in TITLES
             for path in sorted((_ROOT / name / "models").glob("*.safetensors"))]  # fmt: skip
    return {path.stem: path for path in paths}


def offered(scale: int) -> dict[tuple[str, str], str]:
    """Return which model enlarges so much by a method for a kind of source: (method, kind) → name.

    Methods and kinds stand in the order of METHODS and SOURCES.
    """
    names = files()
    found = {}
    for method in METHODS:
        for source in SOURCES:
            name = f"{method}-{source}-x{scale}"
            if name not in names and (method, source) == CLASSIC:
                name = OF_2014.format(scale)
            if name in names:
                found[method, source] = name
    return found


def methods() -> list[str]:
    """Return the methods of which there are models, of whatever scale."""
    return [one for one in METHODS if any(one in key for s in SCALES for key in offered(s))]


def kinds(scale: int | None = None, method: str | None = None) -> list[str]:
    """Return the kinds of sources that a method has models for; None: any scale, any method."""
    method = DEFAULT if method == AUTO else method
    scales = SCALES if scale is None else (scale,)
    there = {kind for s in scales for one, kind in offered(s) if method in (None, one)}
    return [kind for kind in SOURCES if kind in there]


def choose(scale: int, method: str | None = None, source_kind: str | None = None) -> str:
    """Return the name of the model of a method for a kind of source.

    Parameters
    ----------
    scale : int
        2, 3 or 4.
    method : str, optional
        One of METHODS; AUTO or None: DEFAULT.
    source_kind : str, optional
        One of SOURCES; AUTO or None: the first of them.

    Raises
    ------
    ModelError
        There is no such model in this package.
    """
    method, kind = known("method", method), known("source_kind", source_kind)
    method = DEFAULT if method == AUTO else method
    kind = SOURCES[0] if kind == AUTO else kind
    ours = offered(scale)
    if (method, kind) not in ours:
        there = " or ".join(f"{one} for {other}" for one, other in ours)
        raise ModelError(
            f"got `method`={quoted(method)} for `source_kind`={quoted(kind)} at ×{scale}; "
            f"expected {there}",
            parameter="source_kind" if any(method == one for one, _ in ours) else "method",
        )
    return ours[method, kind]


def known(name: str, value: object) -> str:
    """Return a `method` or a `source_kind`, AUTO for None; ModelError: there is none such."""
    if value is None:
        return AUTO
    words = (AUTO, *WORDS[name])
    # Derived classes compare as they like.
    text = str.__str__(value) if isinstance(value, str) else None
    word = next((one for one in words if text == one), None)
    if word is None:
        raise ModelError(
            f"got `{name}`={quoted(value)}; expected one of {', '.join(words)}",
            parameter=name,
            advice=OWN if name == "method" else None,
        )
    return word


def exclude(**others: str | None) -> None:
    """Refuse (InputError) what a model already says: one of `others` that is not None."""
    for name, value in others.items():
        if value is not None:
            raise InputError(
                f"got `model` and `{name}`={quoted(value)}; expected one of them, since a model "
                "is of one method for one kind of source",
                parameter=name,
            )
