"""The wheel has a true bill of materials; who builds a release again gets the same bytes."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import json
import os
import shutil
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from snellen import __version__

ROOT = Path(__file__).resolve().parents[2]
BILL = f"snellen-{__version__}.dist-info/sboms/snellen.cdx.json"
EPOCH = 1_700_000_000


def module(path):
    """A file that is no part of a package, imported."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def check(bill, project):
    """Check what CycloneDX 1.6 asks of such a file, and that nothing is missing or too much."""
    assert set(bill) == {
        "$schema", "bomFormat", "specVersion", "version", "serialNumber", "metadata", "components",
        "dependencies",
    }  # fmt: skip
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert bill["serialNumber"].startswith("urn:uuid:") and len(bill["serialNumber"]) == 45
    itself = bill["metadata"]["component"]
    assert (itself["name"], itself["version"]) == ("snellen", __version__)
    assert itself["licenses"] == [{"license": {"id": project["license"]}}]

    components = bill["components"]
    names = [part["bom-ref"] for part in components]
    assert len(set(names)) == len(names)
    assert bill["dependencies"][0] == {"ref": itself["bom-ref"], "dependsOn": names}
    assert [one["ref"] for one in bill["dependencies"][1:]] == names
    known = {"type", "bom-ref", "name", "version", "description", "hashes", "licenses", "scope",
             "purl", "properties"}  # fmt: skip
    assert all(set(part) <= known and part["type"] and part["name"] for part in components)

    models = {
        part["name"]: part["hashes"][0]
        for part in components
        if part["type"] == "machine-learning-model"
    }
    found = sorted((ROOT / "src").rglob("*.safetensors"))
    assert models == {
        path.relative_to(ROOT / "src").as_posix(): {
            "alg": "SHA-256",
            "content": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in found
    }
    libraries = [part for part in components if part["type"] == "library"]
    assert [part["name"] for part in libraries if "pypi" not in part["purl"]] == ["uPlot"]
    scopes = {part["name"]: part["scope"] for part in libraries if "pypi" in part["purl"]}
    assert sum(scope == "required" for scope in scopes.values()) == len(project["dependencies"])
    assert {"numpy", "av", "pillow", "safetensors"} <= {n for n, s in scopes.items() if s[0] == "r"}
    assert {n for n, s in scopes.items() if s == "optional"} == {
        "cupy-cuda12x", "cupy-cuda13x", "cuda-core", "scikit-video", "pi-heif", "rawpy",
    }  # fmt: skip


def test_the_bill_of_materials(project):
    pytest.importorskip("hatchling")
    hook = module(ROOT / "hatch_build.py")
    optional = {extra: project["optional-dependencies"][extra] for extra in hook.EXTRAS}
    bill = hook.bill_of_materials(
        ROOT, __version__, project["license"], project["dependencies"], optional
    )
    check(bill, project)


def copied(folder, names):
    """A copy of what a build reads, its files made in the order of `names`."""
    for name in names:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / name, target, ignore=ignored)
        else:
            shutil.copyfile(ROOT / name, target)
    return folder


def test_both_packages_are_of_one_version(project):
    lab = tomllib.loads((ROOT / "packages/lab/pyproject.toml").read_text("utf-8"))
    assert lab["project"]["dependencies"] == [f"snellen=={__version__}"]
    assert f"snellen-lab=={__version__}" in project["optional-dependencies"]["train"]
    version = ROOT / "packages/lab" / lab["tool"]["hatch"]["version"]["path"]
    assert version.resolve() == ROOT / "src/snellen/_version.py"


@pytest.mark.slow
def test_a_release_can_be_built_again_bit_for_bit(tmp_path, project, monkeypatch):
    """In another folder, at another time, with another umask, locale, time zone and hash seed."""
    pytest.importorskip("hatchling")
    build = module(ROOT / ".ci" / "release.py").build
    names = ["LICENSE", "README.md", "hatch_build.py", "pyproject.toml", ".gitignore", "packages",
             "src"]  # fmt: skip
    first = build(copied(tmp_path / "one", names), tmp_path / "first", EPOCH)
    for name, value in {
        "LC_ALL": "C", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7", "HOME": str(tmp_path),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    mask = os.umask(0o077)
    try:
        other = copied(tmp_path / "deep" / "er" / "other", names[::-1])
        for path in other.rglob("*"):
            os.utime(path, (1e9, 1e9))
        again = build(other, tmp_path / "again", EPOCH)
    finally:
        os.umask(mask)
    assert again == first and sorted(Path(name).suffix for name in first) == [".gz", ".whl", ".whl"]

    (wheel,) = (tmp_path / "first").glob("snellen-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        check(json.loads(archive.read(BILL)), project)
        record = csv.reader(archive.read(BILL.split("/")[0] + "/RECORD").decode().splitlines())
        hashes = {name: sum for name, sum, _ in record}
        for name in archive.namelist():
            if not name.endswith("/RECORD"):
                sum = base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest())
                assert hashes[name] == "sha256=" + sum.decode().rstrip("=")
        assert {i.date_time for i in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}
        assert not any("snellen-wheel" in name or ".cache" in name for name in archive.namelist())
        assert not any(name.startswith("snellen_lab/") for name in archive.namelist())
    (lab,) = (tmp_path / "first").glob("snellen_lab-*.whl")
    with zipfile.ZipFile(lab) as archive:
        assert "snellen_lab/training.py" in archive.namelist()
        tops = {name.split("/")[0] for name in archive.namelist()}
        assert tops == {"snellen_lab", f"snellen_lab-{__version__}.dist-info"}
    (sdist,) = (tmp_path / "first").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
        assert {member.mtime for member in members} == {EPOCH}
        assert f"snellen-{__version__}/hatch_build.py" in {member.name for member in members}
        archive.extractall(tmp_path / "unpacked", filter="data")
    # The wheel that pip builds from the sdist is the wheel of the release.
    rebuilt = build(tmp_path / "unpacked" / f"snellen-{__version__}", tmp_path / "third", EPOCH)
    assert rebuilt == {**rebuilt, **{one.name: first[one.name] for one in (wheel, lab)}}
