"""Writes the types of the keywords of `upscale_file` and the like.

They are in src/snellen/jobs/options/keywords.py.

Run `python tests/support/keywords.py` after a change of an option's field; a test asks for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import snellen
from snellen.jobs.options.options import FileOptions
from snellen.schema import parameters

FILE = Path(snellen.__file__).parent / "jobs" / "options" / "keywords.py"
_HEAD = '''
"""Keywords of functions for files, for type checkers: made from the fields of the jobs.

Written by `python tests/support/keywords.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypedDict

from snellen.jobs.options.options import File, Time
from snellen.jobs.options.positions import Region
from snellen.upscaling.shipped import Method, SourceKind
'''.lstrip()


def text() -> str:
    """Return the module as it is to be."""
    shared = set(parameters(FileOptions)) - {"device"}
    first = _of(snellen.upscale_file, shared)
    found = [_HEAD, _written("FileKeywords", "TypedDict, total=False", first)]
    for title, one, several in (
        ("Upscale", snellen.upscale_file, snellen.upscale_files),
        ("Deblur", snellen.deblur_file, snellen.deblur_files),
    ):
        own = _own(one)
        keywords = dict(_of(one, set(inspect.signature(one).parameters) - own - shared))
        found.append(_written(f"{title}Keywords", "FileKeywords, total=False", keywords.items()))
        more = set(inspect.signature(one).parameters) - _own(several) - shared - set(keywords)
        base = f"{title}Keywords, total=False"
        found.append(_written(f"{title}Several", base, _of(one, more - {"source"})))
    for title, function in (("Score", snellen.score_files), ("Compare", snellen.compare_files)):
        keywords = set(inspect.signature(function).parameters) - _own(function)
        found.append(
            _written(f"{title}Keywords", "TypedDict, total=False", _of(function, keywords))
        )
    return "\n\n".join(found)


def _own(function: Callable[..., Any]) -> set[str]:
    """Return the parameters that a function names itself."""
    code = inspect.unwrap(function).__code__
    return set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _of(function: Callable[..., Any], names: set[str]) -> Iterable[tuple[str, str]]:
    known = inspect.signature(function).parameters
    return [(name, one.annotation) for name, one in known.items() if name in names]


def _written(name: str, bases: str, keywords: Iterable[tuple[str, str]]) -> str:
    lines = [f"    {keyword}: {kind}" for keyword, kind in keywords]
    about = f'    """Options of functions that take `**{name}`."""\n'
    return "\n".join([f"class {name}({bases}):", about, *lines, ""])


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
