"""Source digest: which source a result belongs to, where there is no version control.

The digest of a checkout is the SHA-256 of one line per file of src/ and tests/, sorted by name:
`<SHA-256 of the content>  <name relative to the checkout>`. This is the output of `sha256sum`, so
that anyone can compute it. It needs the standard library only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import snellen

FOLDERS = ("src", "tests")
"""Folders of the checkout that count."""


def digest(root: Path, folders: Iterable[str] = FOLDERS) -> str:
    """Return the source digest of a checkout's folders, 64 hexadecimal digits."""
    return combined(
        (path.relative_to(root).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest())
        for folder in folders
        for path in (root / folder).rglob("*")
        if path.is_file() and counts(path.relative_to(root / folder).as_posix())
    )


def counts(name: str) -> bool:
    """Return whether a file is source: no cache, nothing hidden, no compiled Python."""
    path = PurePosixPath(name)
    return path.suffix not in (".pyc", ".pyo") and not any(
        part.startswith(".") or part == "__pycache__" or part.endswith(".egg-info")
        for part in path.parts
    )


def combined(entries: Iterable[tuple[str, str]]) -> str:
    """Return the digest of names, with slashes, and SHA-256 digests of contents."""
    lines = "".join(f"{content}  {name}\n" for name, content in sorted(entries))
    return hashlib.sha256(lines.encode()).hexdigest()


def source() -> dict[str, str]:
    """Return the digest of the source that runs, and what it covers: digest and digest_of.

    That is "src and tests" in a checkout, else "package": the files of the installed package alone,
    for which no commit can be found.
    """
    package = Path(snellen.__file__).resolve().parent
    root = package.parents[1]
    if package.parent.name == "src" and (root / "tests").is_dir():
        return {"digest": digest(root), "digest_of": "src and tests"}
    return {"digest": digest(package.parent, [package.name]), "digest_of": "package"}
