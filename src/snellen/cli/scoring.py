"""One run of `snellen score`: what compares, what is kept meanwhile, and where it goes."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from snellen.cli.inputs import PIPE, chosen_device
from snellen.cli.judge import Judge
from snellen.cli.outcome import Outcome, line
from snellen.cli.pictures import Pair, check, pair, partners
from snellen.cli.report import Report
from snellen.errors import IncompleteError, InputError
from snellen.frames.frame import Format
from snellen.mad import heatmap
from snellen.mad.result import Score
from snellen.video.compare import Compared, Summary, compare
from snellen.video.progress import Meter, Progress


class Scoring:
    """Compares two of a kind; options are the command's."""

    def __init__(
        self, reference: Path, distorted: Path, options: dict[str, Any], report: Report
    ) -> None:
        self._reference, self._distorted = reference, distorted
        self._options = options
        self._report = report
        self._warnings: list[str] = []
        asked = options["device"]
        self._worst = heatmap.Worst(options["worst"] if options["map_out"] else 0)
        self._judge = Judge(
            {name: options[name] for name in ("variant", "hi_scale", "eight_bit_lut", "dtype")},
            chosen_device(asked, report),
            asked == "auto",
            self._worst,
            options["temporal"],
            lambda text: self._warn("", text),
        )
        self._outcome = Outcome((), False, None)

    def images(self) -> None:
        """Compare two images."""
        self._expect(())
        with closing(self._judge):
            self._still(self._reference.stem, self._reference, self._distorted, None, {})
        try:
            if not self._options["as_json"]:
                self._report.result(line(self._outcome.rows[0]))
        finally:
            self._write({})

    def folders(self) -> None:
        """Compare the images of two folders."""
        self._expect(("frame", "name"))
        pairs = list(enumerate(partners(self._reference, self._distorted, self._warn)))
        pairs = pairs[:: self._options["every"]][: self._options["frames"]]
        for _, (_, one, other) in pairs:  # before any is scored
            check(one, other, self._options["resized"])
        meter, prepared = Meter(len(pairs), self._progress), None
        began = time.monotonic()
        with closing(self._judge):
            for number, (name, one, other) in pairs:
                facts = {"frame": number, "name": name}
                prepared = self._still(name, one, other, prepared, facts)
                meter.count()
        frames, seconds = len(pairs), time.monotonic() - began
        self._finish(
            f"{frames} pair{'s' * (frames != 1)} of images, {seconds:.1f} s on "
            f"{self._judge.device_name}",
            frames=frames, every=self._options["every"], seconds=seconds,
        )  # fmt: skip

    def films(self) -> None:
        """Compare two videos."""
        self._expect(("frame", "time"))
        options = self._options
        reference, distorted = (
            sys.stdin.buffer if path == PIPE else path
            for path in (self._reference, self._distorted)
        )
        summary = compare(
            reference, distorted, self._judge, self._take, clip=options["clip"],
            offset=options["offset"], every=options["every"], resized=options["resized"],
            decoder=options["decoder"], on_warning=self._warn, on_progress=self._progress,
        )  # fmt: skip
        moving, error = self._temporal()
        self._finish(
            _words(summary, moving),
            frames=summary.frames, reference_frames=summary.reference_frames,
            distorted_frames=summary.distorted_frames, offset=options["offset"],
            every=options["every"], width=summary.width, height=summary.height,
            reference_pictures=summary.reference_pictures,
            distorted_pictures=summary.distorted_pictures, resized=summary.resized,
            seconds=summary.seconds, lost=summary.lost, **moving,
        )  # fmt: skip
        if error is not None:
            raise error
        if summary.lost:
            raise IncompleteError(
                f"damaged: {'; '.join(summary.lost)}; what could be decoded was scored, and frames "
                "behind the damage may have met others than their own"
            )

    def _expect(self, keys: tuple[str, ...]) -> None:
        self._outcome = Outcome(keys, self._options["as_json"], self._options["table"])

    def _still(
        self, name: str, one: Path, other: Path, prepared: Any, facts: dict[str, Any]
    ) -> tuple[Format, float | None]:
        """Compare two images; return what is prepared now."""
        planes: Pair = pair(one, other, self._options["resized"], self._warn)
        wanted = planes.format, planes.data_range
        if prepared != wanted:
            self._judge.prepare(*wanted)
        found = self._judge.run(planes.reference, planes.distorted)
        self._add(found, name, facts, {"name": name})
        return wanted

    def _take(self, one: Compared[Score]) -> None:
        facts = {"frame": one.number, "time": round(float(one.time), 6)}
        self._add(one.result, f"frame{one.number:06}", facts, facts)

    def _add(self, found: Score, file: str, row: dict[str, Any], told: dict[str, Any]) -> None:
        """Take a score, and its maps if it has any."""
        self._outcome.add(found, **row)
        if found.detection is not None:
            numbers = {"mad": found.mad, "hi": found.hi, "lo": found.lo}
            self._worst.keep(file, found, {**told, **numbers})

    def _temporal(self) -> tuple[dict[str, Any], InputError | None]:
        """Return ST-MAD, if it was asked for; or why there is none, which is told at the end."""
        if not self._options["temporal"]:
            return {}, None
        began = time.monotonic()

        def progress(done: int, total: int) -> None:
            rate = done / max(time.monotonic() - began, 1e-9)
            name = f"ST-MAD {self._distorted}"
            self._report.progress(name, done, total, rate, (total - done) / rate)

        try:
            found = self._judge.temporal(progress)
        except InputError as error:
            return {"stmad": None, "smad": None, "tmad": None}, error
        return {"stmad": found.stmad, "smad": found.smad, "tmad": found.tmad}, None

    def _finish(self, words: str, **facts: Any) -> None:
        """Tell the statistics, then write what goes to files: neither costs the other."""
        try:
            self._tell(words, facts)
        finally:
            self._write(facts)
        if self._options["map_out"] and not self._options["as_json"]:
            self._report.result(f"maps of these: {self._options['map_out']}")

    def _tell(self, words: str, facts: dict[str, Any]) -> None:
        worst = self._outcome.worst(self._options["worst"])
        if self._options["as_json"]:
            self._outcome.end(
                **self._inputs(), **facts, **self._judge.facts, worst=worst, warnings=self._warnings
            )
            return
        lines = [self._outcome.text(), words, *(f"worst: {_where(row)}" for row in worst)]
        self._report.result("\n".join(lines))

    def _write(self, facts: dict[str, Any]) -> None:
        try:
            self._outcome.write(self._options["overwrite"])
        finally:
            if self._options["map_out"]:
                about = {**self._inputs(), **facts, **self._judge.facts}
                heatmap.write(
                    self._options["map_out"], self._worst, about, self._options["overwrite"]
                )

    def _inputs(self) -> dict[str, str]:
        return {"reference": str(self._reference), "distorted": str(self._distorted)}

    def _warn(self, name: str, text: str) -> None:
        """Tell once what is odd with an input, or with "" as its name, with both."""
        said = f"{name}: {text}" if name else text
        if said not in self._warnings:
            self._warnings.append(said)
            self._report.warning(name or f"{self._reference} {self._distorted}", text)

    def _progress(self, p: Progress) -> None:
        self._report.progress(str(self._distorted), p.frames, p.total, p.fps, p.eta)


def _words(summary: Summary, moving: dict[str, Any]) -> str:
    """Return in words what was compared, and ST-MAD."""
    pictures = f"{summary.reference_pictures} and {summary.distorted_pictures}"
    counts = ""
    if summary.reference_frames is not None:
        counts = f" of {summary.reference_frames} and {summary.distorted_frames}"
    said = f"{summary.frames} frame{'s' * (summary.frames != 1)}{counts}, {pictures}"
    said += f", {summary.seconds:.1f} s on {summary.device}"
    if moving.get("stmad") is not None:
        said += "\nST-MAD {stmad:.4f}  SMAD {smad:.4f}  TMAD {tmad:.4f}".format(**moving)
    return said


def _where(row: dict[str, Any]) -> str:
    at = row["name"] if "name" in row else f"frame {row['frame']} at {row['time']:.3f} s"
    return f"{at}, {line(row)}"
