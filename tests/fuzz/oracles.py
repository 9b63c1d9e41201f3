"""What must hold after a case. Each oracle yields a sentence for every fault that it finds."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.case import Case

BASE = 400.0
"""Megabytes that a small case may take: buffers, threads and compiled code."""
SLOW = 25.0
"""Seconds of a processor that a case may take."""

State = dict[str, tuple[int, int, str]]


@dataclass
class Outcome:
    """What a run left behind."""

    case: Case
    folder: Path
    code: int | None
    """Exit code; None: the process did not live to give one, or an exception left `main`."""
    ended: str = ""
    """How the process ended instead."""
    stacks: str = ""
    out: bytes = b""
    err: bytes = b""
    memory: float = 0.0
    cpu: float = 0.0
    before: State = field(default_factory=dict)
    witness: Callable[[str], dict] = lambda path: {}
    """Asks FFmpeg and Pillow about a file; see witness.py."""
    twin: Outcome | None = None

    @property
    def text(self) -> str:
        """Standard error."""
        return self.err.decode(errors="surrogateescape")

    @property
    def done(self) -> bool:
        """Whether there is a result."""
        return self.code in (0, 3)


def state(folder: Path) -> State:
    """Return size, time and digest of all files, by name relative to the folder."""
    found: State = {}
    for path in folder.rglob("*"):
        name, facts = str(path.relative_to(folder)), path.lstat()
        if path.is_dir():
            if not any(path.iterdir()):
                found[name + "/"] = (0, 0, "")
        else:
            digest = hashlib.sha1(path.read_bytes()).hexdigest()
            found[name] = (facts.st_size, facts.st_mtime_ns, digest)
    return found


def ended(run: Outcome) -> Iterator[str]:
    """The process lives, and its exit code is one of those that are documented."""
    if run.ended:
        yield f"the process ended by {run.ended}"
    elif run.code is None:
        yield "an exception left main: " + _last(run.text)
    elif run.code not in run.case.codes:
        yield f"exit code {run.code}: {_last(run.text)}"


def said(run: Outcome) -> Iterator[str]:
    """Every line is ours, and an error is one line."""
    if run.code is None:
        return
    if "Traceback (most recent call last)" in run.text:
        yield "a traceback: " + _last(run.text)
        return
    lines = run.text.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    if "--json" in run.case.words and b'"event": "error"' in run.out + run.err:
        errors += [line for line in (run.out + run.err).splitlines() if b'"event": "error"' in line]
    several = "in" in run.case.words or "--pairs" in run.case.words
    if several and b'"exit_code"' in run.out:
        errors += ["of a pair"]
    if run.code == 0 and errors:
        yield f"exit code 0 and an error: {errors[0]}"
    if run.code and not errors:
        yield f"exit code {run.code} without a line of error: {run.text[:200]!r}"
    if run.code in (1, 2) and len(errors) > 1 and not several:
        yield f"{len(errors)} lines of error: {errors[:3]}"
    if "--profile" in run.case.words or run.case.words[-1] == "-" or "-" in run.case.words[4:]:
        return  # a table, or the report of a result that goes to standard output
    for line in lines:
        is_notice = line.startswith("in/") and ": " in line
        is_notice |= line.startswith("pairs: ") and "--pairs" in run.case.words
        if not (is_notice or line.startswith(("error: ", "warning: ", "first use: ", '{"'))):
            yield f"a line that is not ours: {line[:200]!r}"
            return


def clean(run: Outcome) -> Iterator[str]:
    """No foreign character reaches the terminal raw."""
    texts = [("stderr", run.err)]
    words = run.case.words
    if ("-o", "-") not in itertools.pairwise(words) and words[0] != "job":
        texts.append(("stdout", run.out))
    for where, data in texts:
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            yield f"{where} is no UTF-8: {error.object[error.start - 20 : error.end + 20]!r}"
            continue
        for sign in text:
            if sign != "\n" and unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp", "Cs"):
                yield f"{where} has {sign!r}: {text[max(0, text.index(sign) - 60) :][:160]!r}"
                break


def leftovers(run: Outcome) -> Iterator[str]:
    """Nothing stands in the folder but inputs and named outputs."""
    for name in state(run.folder).keys() - run.before.keys():
        named = any(name == one or ((not one or one.endswith("/")) and name.startswith(one))
                    for one in run.case.outputs)  # fmt: skip
        hidden = any(part.startswith(".") and part != ".lock" for part in Path(name).parts)
        hidden &= name not in run.case.outputs
        if name not in ("out/", "in/") and (not named or hidden):
            yield f"left behind: {name!r}"


def inputs(run: Outcome) -> Iterator[str]:
    """No input has changed."""
    now = state(run.folder)
    kept = tuple(name for name in run.case.outputs if name.endswith(".segments/"))
    own = {name for name, data in run.case.files.items() if data.startswith(b'{"snellen pairs"')}
    kept += tuple(name for name in own if name.endswith(".unfinished"))
    if "--overwrite" in run.case.words:
        kept += run.case.outputs
    for name, facts in run.before.items():
        if not name.endswith("/") and not name.startswith(kept or "//") and now.get(name) != facts:
            yield f"the input {name!r} has changed: {facts} → {now.get(name)}"


def outputs(run: Outcome) -> Iterator[str]:
    """A result is readable and complete, or there is none."""
    case = run.case
    if run.code is None or case.words[0] == "job" or "in" in case.words:
        return
    found = [name for name in case.outputs if name and (run.folder / name).exists()]
    found = [name for name in found if run.twin is None or "twin" not in name]
    found = [name for name in found if name not in run.before and not name.endswith(".segments/")]
    if not run.done:
        if found and "--pairs" not in case.words:  # whose table has the errors, too
            yield f"exit code {run.code}, yet there is {found}"
        return
    if not case.judged:
        return
    wanted = [name for name in case.outputs if "twin" not in name]
    wanted = [name for name in wanted if not name.endswith(".segments/")]
    if missing := set(wanted) - set(found):
        yield f"exit code {run.code}, yet there is no {sorted(missing)}"
    for name in found:
        if name.endswith((".csv", ".safetensors", ".npy", "/")):
            continue
        if name.endswith(".html"):
            yield from _page((run.folder / name).read_bytes())
            continue
        read = run.witness(str(run.folder / name))
        if read["errors"] or not read["frames"]:
            yield f"{name} cannot be read: {read['frames']} frames, {read['errors'][:3]}"
        wrote = _frames(run.out)
        if wrote is not None and wrote != read["frames"] and name.endswith(_FILMS):
            yield f"{name} has {read['frames']} frames; the report says {wrote}"


_FILMS = (".mkv", ".mp4", ".mov", ".y4m", ".avi", ".webm", ".ts")


SCRIPTS = 4
"""Elements of a report that run code: the contents, the curves' library, and two of ours."""


def _page(page: bytes) -> Iterator[str]:
    """A report is complete, and nothing of a file's name or tags becomes code of it."""
    if not page.rstrip().endswith(b"</html>"):
        yield f"the report ends with {page[-40:]!r}"
    if (count := page.lower().count(b"<script")) != SCRIPTS:
        yield f"the report has {count} scripts; expected {SCRIPTS}"
    if found := re.search(rb"(?:src|href)=[\"']?(?:https?:|//|file:)[^ >]*", page):
        yield f"the report loads {found[0]!r}"


def _frames(out: bytes) -> int | None:
    """Return the frames of a film that a report names."""
    text = out.decode(errors="replace")
    for line in text.splitlines():
        if line.startswith('{"event": "done"'):
            count = json.loads(line).get("frames")
            return count if isinstance(count, int) else None
    match = re.search(r": (\d+) frames?, ", text)
    return int(match[1]) if match else None


def memory(run: Outcome) -> Iterator[str]:
    """Memory is bounded by what the case holds."""
    bound = BASE + run.case.pixels * 200 / 2**20
    if run.memory > bound:
        yield f"{run.memory:.0f} MB; expected at most {bound:.0f}"


def time(run: Outcome) -> Iterator[str]:
    """A small file takes a short time."""
    if run.cpu > SLOW:
        yield f"{run.cpu:.0f} s of a processor; expected at most {SLOW:.0f}"


def damage(run: Outcome) -> Iterator[str]:
    """What FFmpeg reports of a film, or a gap in its frames, is said; no whole file is blamed."""
    case = run.case
    if case.whole and run.code not in (0, None):
        yield f"a whole file gives exit code {run.code}: {run.text[:300]!r}"
    if case.film is None or case.whole or run.code != 0:
        return
    found = run.witness(str(run.folder / case.film))
    if errors := [text for text in found["errors"] if not _HARMLESS.search(text)]:
        yield f"exit code 0, but FFmpeg reports {errors[:3]}"
    elif _ZEROED.fullmatch(case.note.partition(": ")[2]) and _gaps(found["times"]):
        whole = run.folder.parent / ("whole" + Path(case.film).suffix)
        whole.write_bytes(case.original or b"")
        first = run.witness(str(whole))
        if not _gaps(first["times"]) and first["frames"] > found["frames"]:
            yield f"exit code 0 with {found['frames']} of {first['frames']} frames, and a gap"


_HARMLESS = re.compile(
    "nsupported|not implemented|Could not find codec parameters|co located POCs unavailable"
)
"""Errors that FFmpeg reports of sound files too: of what it does not know, not of damage, and of
pictures before a film's first."""
_ZEROED = re.compile(r"((zero|noise|remove)_block\+?)+")
"""Harms that leave the times of the other frames as they were."""


def _gaps(times: list[float | None]) -> bool:
    """Return whether frames are missing between others of a constant rate."""
    known = sorted(time for time in times if time is not None)
    steps = sorted(after - before for before, after in itertools.pairwise(known))
    return bool(steps) and steps[-1] > 1.5 * steps[len(steps) // 2] + 0.002


def twins(run: Outcome) -> Iterator[str]:
    """The same content under a plain name gives the same."""
    if run.twin is None or run.code is None:
        return
    if run.twin.code != run.code:
        yield f"exit code {run.code}, with a plain name {run.twin.code}: {run.text[:300]!r}"
        return
    names = [name for name in run.case.outputs if (run.folder / name).exists()]
    if len(names) == 2:
        one, two = ((run.folder / name).read_bytes() for name in names)
        if one != two:
            yield "the result is another than with a plain name"


def _last(text: str) -> str:
    """Return the last line of a traceback, and where it was raised."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    places = [line for line in lines if line.startswith("File ")]
    return " · ".join([*lines[-1:], *places[-1:]])[:400]


ORACLES = (ended, said, clean, leftovers, inputs, outputs, memory, time, damage, twins)


def faults(run: Outcome) -> list[tuple[str, str]]:
    """Return the name of an oracle and a sentence for each fault."""
    return [(oracle.__name__, text) for oracle in ORACLES for text in oracle(run)]
