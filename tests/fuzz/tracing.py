"""Runs a command under strace: which files it opens, and whether it talks to anybody."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from fuzz.case import Case
from fuzz.process import SOURCE, command, environment, traced

_CALLS = "open,openat,openat2,creat,connect,socket,bind,sendto,execve"
_LINE = re.compile(r"^\d+ +(\w+)\((.*)$")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_SYSTEM = ("/usr", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev")


def strangers(case: Case, folder: Path) -> tuple[subprocess.CompletedProcess, list[str]]:
    """Run a case as a real command; return it, and what it opened or called that nobody named."""
    strace = traced()
    assert strace is not None
    log = folder.parent / "strace"
    words = [strace, "-f", "-qq", "-xx", "-s", "4096", "-e", f"trace={_CALLS}", "-o", str(log)]
    stdin = (folder / case.stdin).open("rb") if case.stdin else subprocess.DEVNULL
    ran = subprocess.run(
        [*map(os.fsencode, [*words, *command(), *case.words])], cwd=folder, stdin=stdin,
        capture_output=True, env=environment(), timeout=300, check=False,
    )  # fmt: skip
    return ran, list(judged(log.read_text(errors="replace"), case, folder))


def judged(log: str, case: Case, folder: Path) -> Iterator[str]:
    """Yield what in a log of strace was not named by the case."""
    started = False
    for line in log.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        call, rest = match.groups()
        strings = _STRING.findall(rest)
        name = os.fsdecode(bytes.fromhex(strings[0].replace("\\x", ""))) if strings else ""
        if call in ("socket", "connect", "bind", "sendto"):
            yield f"{call}({rest[:100]}"
        elif call == "execve":
            failed = rest.rstrip().endswith("= -1 ENOENT (No such file or directory)")
            worker = "--workers" in case.words and name in (sys.executable, *command()[:1])
            if started and not failed and not worker:
                yield f"it starts {name!r}"
            started = True
        elif name and not _allowed(name, rest, case, folder):
            yield f"{call} {name!r} {rest.split(',', 2)[-1][:80] if ',' in rest else ''}"


def _allowed(name: str, rest: str, case: Case, folder: Path) -> bool:
    path = os.path.normpath(folder / name)
    writes = any(flag in rest for flag in ("O_WRONLY", "O_RDWR", "O_CREAT"))
    inside = os.path.relpath(path, folder)
    if not inside.startswith(".."):
        if inside in (".", "in", "out") or (not writes and "O_DIRECTORY" in rest):
            return True
        if inside.startswith("out/"):
            return True  # outputs and their hidden neighbours; `leftovers` looks at what stays
        return not writes and inside in _named(case)
    if writes:
        if _temporary(path, rest):
            return True
        return path.startswith((*_caches(), "/dev/", "/proc/self/")) or "__pycache__" in path
    if "O_DIRECTORY" in rest:  # the import system lists folders
        return True
    return path.startswith((*_SYSTEM, *_roots(), *_caches())) or folder.is_relative_to(path)


def _temporary(path: str, rest: str) -> bool:
    """Return whether this is a file without a name, Python's test of a folder for such files, or
    in a folder of ours, which `leftovers` of the faults' tests look for."""
    where, name = os.path.split(path)
    if "O_TMPFILE" in rest:
        return os.path.normpath(path) == tempfile.gettempdir()
    if where == tempfile.gettempdir():
        return "O_EXCL" in rest and re.fullmatch(r"[a-z0-9_]{8}", name) is not None
    return path.startswith(f"{tempfile.gettempdir()}/snellen-") and "fuzz" not in path


def _named(case: Case) -> set[str]:
    """Return the files that the command's words name, themselves, as filters or by their folder."""
    filters = [word for before, word in pairwise(("", *case.words))
               if {before, word.partition("=")[0]} & {"--vf", "--post-vf"}]  # fmt: skip
    parts = [part for word in filters for part in re.split("[=:,]", word) if part]
    words = {os.path.normpath(one) for one in (*case.words, *parts)}
    if case.words[0] == "job" or {"--plan", "--pairs"} & set(case.words):
        return set(case.files)
    return words | {name for name in case.files
                    if str(Path(name).parent) in words or name == case.stdin}  # fmt: skip


def _roots() -> tuple[str, ...]:
    roots = {sys.prefix, sys.base_prefix, str(SOURCE), str(SOURCE.parent)}
    return (*roots, *(str(Path(root).resolve()) for root in roots))


def _caches() -> tuple[str, ...]:
    return (str(Path.home() / ".cache"), str(Path(tempfile.gettempdir()) / "snellen"),
            os.environ.get("SNELLEN_CACHE") or str(Path.home() / ".cache"))  # fmt: skip
