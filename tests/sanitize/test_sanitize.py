"""Every kernel has a test for compute-sanitizer, whose reports are read right."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import sanitize
from benchmarks.digest import digest
from snellen.gpu.nvrtc import PACKAGE
from support.sanitize import (
    TESTS,
    TOOLS,
    chosen,
    functions,
    pytest_collection_modifyitems,
    tools,
)

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.cu"))


def test_every_file_of_kernels_has_tests():
    assert sorted(TESTS) == FILES and all(TESTS.values())
    assert all(functions(file) for file in FILES)
    for name in chosen():
        path, function = name.split("[")[0].split("::")
        assert f"\ndef {function}(" in (ROOT / path).read_text("utf-8"), name


def test_which_tools_a_kernel_needs():
    assert set(tools("mia/cuda/mia.cu")) == set(TOOLS)  # by what it includes
    assert tools("aplus/cuda/overlap.cu") == ("memcheck", "initcheck")


@pytest.mark.slow
def test_the_chosen_tests_exist():
    files = sorted({name.split("::")[0] for name in chosen()})
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-m", "gpu", *files], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = {line for line in done.stdout.splitlines() if "::" in line}
    assert set(chosen()) <= found
    assert {name for name in found if "test_each_kind_of_layout" in name} <= set(chosen())


class Item(SimpleNamespace):
    def add_marker(self, marker):
        pass


def test_parts_are_the_same_in_any_order(random):
    """Each is a process of its own, which pytest-randomly gives another order."""
    names = [name for name, tools in chosen().items() if "initcheck" in tools]
    found = []
    for part in range(3):
        given = {"--sanitize": "initcheck", "--sanitize-part": f"{part}/3"}
        hook = SimpleNamespace(pytest_deselected=lambda items: None)
        items = [Item(nodeid=name) for name in random.permutation(names).tolist()]
        pytest_collection_modifyitems(SimpleNamespace(getoption=given.get, hook=hook), items)
        found += [one.nodeid for one in items]
    assert sorted(found) == sorted(names)


RACES = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at mia+0x100 in mia.cu:12
=========     and Read access at mia+0x200 in mia.cu:14 [4 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (CLEAN, 0),
        (RACES, 1),
        ("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n", 0),
        ("========= RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)\n", 2),
        ("========= Invalid __global__ read\n========= ERROR SUMMARY: 7 errors\n", 7),
        ("", None),
        (
            "========= COMPUTE-SANITIZER\n========= Error: Target application returned an error\n",
            None,
        ),
        (CLEAN + "========= ERROR SUMMARY: 3 errors\n", 3),  # of a child
    ],
)
def test_what_a_tool_found(text, wanted):
    assert sanitize.findings(text) == wanted


def test_a_hazard_that_is_explained_does_not_count(monkeypatch):
    assert sanitize.explained(RACES) == []
    monkeypatch.setattr(sanitize, "EXPLAINED", {r"mia\.cu:12[^=]*=*[^=]*mia\.cu:14": "an mbarrier"})
    assert sanitize.explained(RACES + RACES.replace("12", "99")) == ["an mbarrier"]


def access(what, lines, function):
    return (
        f"{what} access at void Line<(int)64, (int)8, (int){lines}>::{function}"
        "(float2 (&)[8], const T2 &, const T3 &)+0x24f0 in small.cuh:209"
    )


BEGUN = access("Write", 8, "begin<(bool)0, Columns, TableTwiddles<Line<(int)64, (int)8, (int)8>>>")
READ = access("Read", 1, "finish<(bool)0, Rows, TableTwiddles<Line<(int)64, (int)8, (int)1>>>")
WRITTEN = access("Write", 1, "begin<(bool)0, Rows, TableTwiddles<Line<(int)64, (int)8, (int)1>>>")


@pytest.mark.parametrize("side", [64, 128])
@pytest.mark.parametrize(
    ("places", "known"),
    [
        ((BEGUN, WRITTEN, READ), True),
        ((READ, BEGUN), True),
        ((BEGUN, READ, BEGUN), False),  # columns of two warps
        ((BEGUN, BEGUN, READ), False),
        ((BEGUN, READ, access("Read", 1, "finish<(bool)1, Rows, T>")), False),
        ((READ, WRITTEN), False),
        ((access("Write", 2, "begin<(bool)0, Columns, T>"), READ), False),
    ],
)
def test_rows_before_columns_of_a_cluster_are_explained(places, known, side):
    """Only where all that a hazard names are these two places."""
    one, *others = (place.replace("(int)64", f"(int){side}") for place in places)
    text = f"========= Error: Race reported between {one}\n"
    text += "".join(f"=========     and {other} [64 hazards]\n" for other in others)
    text = (
        2 * (text + "========= \n")
        + "========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)\n"
    )
    assert len(sanitize.explained(text)) == (2 if known else 0)
    assert (
        sanitize.explained(text.replace(f"(int){side}, (int)8, (int)8", "(int)32, (int)8, (int)8"))
        == []
    )


@pytest.mark.parametrize(
    ("one", "count"),
    [("128, 8, 8, 1", 1), ("128, 8, 4, 0", 1), ("256, 16, 8, 0", 1), ("256, 16, 8, 1", 0)],
)
def test_which_clusters_are_explained(one, count):
    """Those only that racecheck reported and that an emulator ran with one warp far behind."""
    side, values, beside, inverse = one.split(", ")
    line = f"Line<(int){side}, (int){values}, (int)"
    text = (
        "========= Error: Race reported between Write access at void "
        f"{line}{beside}>::begin<(bool){inverse}, Columns, T>(float2 (&)[8]) in small.cuh:209\n"
        "=========     and Read access at void "
        f"{line}1>::finish<(bool){inverse}, Rows, T>(float2 (&)[8]) in small.cuh:238 [9 hazards]\n"
        "========= \n========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n"
    )
    assert len(sanitize.explained(text)) == count
    assert ("Columns" in "".join(sanitize.unexplained(text))) == (count == 0)


def record(**changed):
    """A record of a run in which nothing was found."""
    done = {"tool": "memcheck", "finished": True, "exit_status": 0, "errors": 0, "explained": [],
            "seconds": 9.0, "tests": {"passed": 3}, "kernels": []}  # fmt: skip
    runs = []
    for tool in TOOLS:
        files = [file for file in FILES if tool in tools(file)]
        launched = sorted(f"{file}:{name}" for file in files for name in functions(file))
        runs.append({**done, "tool": tool, "kernels": launched, "wanted": launched})
    found = {"digest": "d", "unchanged": True, "date": "2026-11-22", "gpu": ["H100"], "tools": runs}
    return {**found, **changed}


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check", ROOT / ".ci" / "release_check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.sanitizer_faults


def test_a_clean_record_passes(check):
    assert check(record(), "d") == []
    assert json.loads(json.dumps(record())) == record()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"finished": False}, "did not finish"),
        ({"errors": 2}, "2 errors"),
        ({"errors": None}, "no summary"),
        ({"exit_status": 1}, "exit status 1"),
        ({"tests": {"passed": 3, "failed": 1}}, "failed"),
        ({"tests": {}}, "no test passed"),
        ({"kernels": []}, "launched"),
    ],
)
@pytest.mark.parametrize("which", range(4))
def test_what_speaks_against_a_release(check, changes, words, which):
    given = record()
    given["tools"][which] = {**given["tools"][which], **changes}
    (fault,) = check(given, "d")
    assert words in fault and TOOLS[which] in fault


def test_another_source_and_a_tool_that_is_missing(check):
    assert "differ" in check(record(), "e")[0]
    assert "changed" in check(record(unchanged=False), "d")[0]
    given = record()
    assert "synccheck" in check({**given, "tools": given["tools"][:3]}, "d")[0]


STAND_IN = """#!{python}
import pathlib, subprocess, sys, time
words = sys.argv[1:]
if "--version" in words:
    print("NVIDIA (R) Compute Sanitizer\\nVersion 2025.3.1"); sys.exit()
if "--help" in words:
    print("--kernel-name-exclude arg"); sys.exit()
tool = words[words.index("--tool") + 1]
record = pathlib.Path(words[words.index("--sanitize-record") + 1])
record.write_text('{{"test": "a", "outcome": "passed", "seconds": 1, "kernels": ["x.cu:k"]}}\\n')
if tool == "racecheck":
    time.sleep(60)
pathlib.Path(words[words.index("--log-file") + 1]).write_text("{clean}")
sys.exit(0)
"""


@pytest.mark.slow
def test_the_driver_with_a_stand_in_for_the_tool(tmp_path):
    """Side by side; a tool that takes too long is ended, with its processes, and that is said."""
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(STAND_IN.format(python=sys.executable, clean=CLEAN.replace("\n", "\\n")))
    tool.chmod(0o755)
    out = tmp_path / "record.json"
    words = ["--sanitizer", str(tool), "--limit", "6", "--no-warm-up", "--out", str(out)]
    assert sanitize.main(words) == 1
    found = json.loads(out.read_text("utf-8"))
    assert found["digest"] == digest(ROOT) and found["sanitizer"] == "2025.3.1"
    runs = {run["tool"]: run for run in found["tools"]}
    assert [runs[name]["finished"] for name in TOOLS] == [True, True, False, True]
    assert runs["initcheck"]["errors"] == 0 and runs["initcheck"]["tests"] == {"passed": 4}
    assert runs["memcheck"]["errors"] == 0 and runs["memcheck"]["kernels"] == ["x.cu:k"]
    assert runs["racecheck"]["tests"] == {"passed": 1} and runs["racecheck"]["errors"] is None


def test_a_dry_run_shows_what_would_run(capsys):
    assert sanitize.main(["--dry-run"]) == 0
    out = capsys.readouterr().out
    assert all(f"--tool {tool}" in out for tool in TOOLS)
    assert f"{len({test for tests in TESTS.values() for test in tests})} tests" in out
