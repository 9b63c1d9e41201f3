"""Makes cases, runs them, and says what each fault is and how to repeat it."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fuzz import tracing
from fuzz.case import Case, Random
from fuzz.oracles import Outcome, faults, state
from fuzz.process import Worker, traced
from fuzz.registry import KINDS

SHOWN = 2
"""Cases of one fault that are printed; the others are counted."""
_NUMBER = re.compile(r"0x[0-9a-f]+|[0-9A-F]{6,}|[0-9]+|\.result-\w+")
TRACED = 150
"""One case of so many runs once more, as a real command under strace."""


class Fuzzer:
    """Runs cases in a child process; another child is the witness."""

    def __init__(self, keep: Path | None = None) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="snellen-fuzz-"))
        self._worker, self._eyes = Worker(self._home), Worker(self._home)
        self._keep = keep
        self.seen: Counter[str] = Counter()
        self.codes: Counter[tuple[str, str]] = Counter()

    def close(self) -> None:
        """End the children and remove the files."""
        self._worker.close()
        self._eyes.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def run(self, case: Case, strace: bool = False) -> tuple[Outcome, list[tuple[str, str]]]:
        """Run a case; return its outcome, and name and sentence of each fault."""
        folder = self._home / "case"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        case.place(folder)
        twin = None if case.twin is None else self._outcome(case, case.twin, folder)
        outcome = self._outcome(case, case.words, folder)
        outcome.twin = twin
        found = faults(outcome)
        if strace and traced() and case.words[0] != "job":
            shutil.rmtree(folder)
            case.place(folder)
            before = state(folder)
            ran, strangers = tracing.strangers(case, folder)
            real = Outcome(case, folder, ran.returncode, "", "", ran.stdout, ran.stderr,
                           before=before, witness=self._read)  # fmt: skip
            found += [one for one in faults(real) if one not in found]
            found += [("opened", text) for text in strangers]
        return outcome, found

    def _outcome(self, case: Case, words: list[str], folder: Path) -> Outcome:
        before = state(folder)
        for name in ("stdout", "stderr"):
            (self._home / name).write_bytes(b"")
        answer = self._worker.ask(folder=str(folder), words=words, stdin=case.stdin)
        return Outcome(
            case, folder, answer.facts.get("code"), answer.ended, answer.stacks,
            (self._home / "stdout").read_bytes(), (self._home / "stderr").read_bytes(),
            answer.facts.get("memory", 0.0), answer.facts.get("cpu", 0.0), before, self._read,
        )  # fmt: skip

    def _read(self, path: str) -> dict:
        answer = self._eyes.ask(decode=path)
        # A crash of the witness is FFmpeg's own, and says nothing of ours.
        return answer.facts or {"frames": -1, "size": (0, 0), "errors": [], "times": []}

    def report(self, name: str, run: Outcome, found: list[tuple[str, str]], repeat: str) -> None:
        """Print the faults of a case, unless the same were printed before; keep its files."""
        new = []
        for oracle, text in found:
            sign = f"{oracle}: {_NUMBER.sub('#', text)[:70]}"
            self.seen[sign] += 1
            if self.seen[sign] <= SHOWN:
                new.append((oracle, text))
        if not new:
            return
        print(f"FAULT {name} ({run.case.note})", flush=True)
        for oracle, text in new:
            print(f"  {oracle}: {text.encode('ascii', 'backslashreplace').decode()}")
        print(f"  repeat: {repeat}", flush=True)
        if self._keep is not None:
            place = self._keep / name.replace(":", "-")
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(run.folder, place, symlinks=True)
            said = "\n".join([repr(run.case.words), run.case.note, *map(str, found), run.text,
                              run.stacks])  # fmt: skip
            (place / "case.json").write_text(run.case.to_json())
            (place / "finding.txt").write_text(said, errors="backslashreplace")


def made(seed: int, kind: str, number: int) -> Case:
    """Return a case by its seed, kind and number."""
    return KINDS[kind].make(Random(f"{seed}/{kind}/{number}"))


def numbered(seed: int, kind: str | None) -> Iterator[tuple[str, int]]:
    """Yield kind and number of each case of a seed, for ever."""
    choice, names = Random(f"{seed}/kinds"), list(KINDS)
    weights = [KINDS[name].weight for name in names]
    number = 0
    while True:
        yield kind or choice.choices(names, weights)[0], number
        number += 1


def fuzz(seed: int, seconds: float, kind: str | None = None, keep: Path | None = None) -> int:
    """Run cases for some seconds; return how many had a fault."""
    print(f"seed {seed}: make fuzz SEED={seed} repeats the run", flush=True)
    if not traced():
        print("strace is not here: what the commands open is not checked")
    fuzzer, failed, count, started = Fuzzer(keep), 0, 0, time.monotonic()
    try:
        for what, number in numbered(seed, kind):
            if time.monotonic() - started > seconds:
                break
            case = made(seed, what, number)
            outcome, found = fuzzer.run(case, number % TRACED == TRACED - 1)
            fuzzer.codes[what, str(outcome.code if outcome.code is not None else "?")] += 1
            count += 1
            failed += bool(found)
            name = f"{what}:{number}"
            fuzzer.report(name, outcome, found, f"make fuzz SEED={seed} CASE={name}")
    finally:
        fuzzer.close()
    spent = time.monotonic() - started
    print(f"{count} cases in {spent:.0f} s ({count / spent:.1f} a second), {failed} with a fault")
    for what in KINDS:
        codes = {code: n for (name, code), n in sorted(fuzzer.codes.items()) if name == what}
        if codes:
            print(f"  {what}: " + ", ".join(f"exit {code}: {n}" for code, n in codes.items()))
    for sign, times in fuzzer.seen.most_common():
        print(f"  {times} × {sign}".encode("ascii", "backslashreplace").decode())
    return failed


def repeat(seed: int, name: str, keep: Path | None) -> int:
    """Run one case again, with strace; return whether it had a fault."""
    kind, number = name.split(":")
    fuzzer = Fuzzer(keep)
    try:
        outcome, found = fuzzer.run(made(seed, kind, int(number)), strace=True)
        print(f"snellen {' '.join(map(ascii, outcome.case.words))}")
        print(f"exit code {outcome.code}, {outcome.memory:.0f} MB")
        print(ascii(outcome.out[:2000]), ascii(outcome.text[:3000]), outcome.stacks, sep="\n")
        fuzzer.report(name, outcome, found, "this command")
    finally:
        fuzzer.close()
    return bool(found)
