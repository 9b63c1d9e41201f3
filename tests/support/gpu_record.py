"""The record of a run of the GPU tests: `pytest -m gpu --gpu-record=FILE`.

A plugin of pytest, and with pytest-xdist one of the process that hands out the tests. The record
says which source ran (its digest; the GPU machine needs no Git), where, when, and how many tests
passed. `.ci/release_check.py` compares it with the checkout.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.digest import digest
from snellen.jobs import machine


def pytest_addoption(parser):
    parser.addoption(
        "--gpu-record",
        type=Path,
        metavar="FILE",
        help="write the record of a run with -m gpu: source digest, device, counts of tests",
    )


def pytest_configure(config):
    path = config.getoption("--gpu-record")
    if path is None or hasattr(config, "workerinput"):
        return
    if config.option.markexpr != "gpu":
        raise pytest.UsageError("--gpu-record counts GPU tests alone: add -m gpu")
    config.pluginmanager.register(Recorder(config, path), "gpu-recorder")


class Recorder:
    """Counts how tests end, and writes the record at the end of the session."""

    def __init__(self, config, path):
        self.path = path
        self.root = config.rootpath
        self.digest = digest(self.root)
        # All tests, or some that were chosen by name, by folder or by how they ended before?
        chosen = (config.option.keyword, config.getoption("lf", False), config.option.deselect)
        folders = [(config.invocation_params.dir / name).resolve() for name in config.args]
        self.complete = folders == [self.root / "tests"] and not any(chosen)
        self.outcomes = {}
        self.reasons = {}

    def pytest_runtest_logreport(self, report):
        """Keep how a test ended: a failure before or after the test itself is an error."""
        outcome = report.outcome
        if outcome == "failed" and report.when != "call":
            outcome = "error"
        elif hasattr(report, "wasxfail"):
            outcome = "xfailed" if report.skipped else "xpassed"
        if outcome == "passed" and report.when != "call":
            return
        self.outcomes[report.nodeid] = outcome
        if outcome == "skipped":
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            self.reasons[report.nodeid] = reason.removeprefix("Skipped: ")

    def pytest_collectreport(self, report):
        """Count a module that cannot be imported as an error."""
        if report.failed:
            self.outcomes[report.nodeid] = "error"

    def pytest_sessionfinish(self, session, exitstatus):
        """Write the record; exit status 0 is the only one without failures."""
        count = Counter(self.outcomes.values())
        record = {
            "digest": self.digest,
            "unchanged": digest(self.root) == self.digest,
            "complete": self.complete,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "gpu": machine.gpus(),
            **{name: machine.cuda().get(name, "") for name in ("driver", "runtime", "nvrtc")},
            "exit_status": int(exitstatus),
            "tests": {name: count[name] for name in ("passed", "failed", "error", "skipped")}
            | {name: count[name] for name in ("xfailed", "xpassed") if count[name]},
            "skipped": dict(sorted(Counter(self.reasons.values()).items())),
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
