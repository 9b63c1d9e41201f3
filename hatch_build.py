"""Part of the build: the wheel gets a software bill of materials.

PEP 770 has its place, `snellen-*.dist-info/sboms/snellen.cdx.json`; it is CycloneDX, as JSON. It
says what an installation consists of: this package, with the SHA-256 of each model in it, the
library of others that it holds, and the packages that pyproject.toml asks for, with the versions
that it allows. Which of these versions are there is only known where it is installed. The same
source gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import runpy
import tempfile
import uuid
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NAME = "snellen.cdx.json"
EXTRAS = ("cuda12", "cuda13", "demo", "stills")
"""The extras that add something to Snellen; the others are for its development."""
VENDORED = "src/snellen/report/vendored.py"
MODELS = "src/snellen/*/models/*.safetensors"


class CustomBuildHook(BuildHookInterface[Any]):
    """Makes the bill of materials in a temporary folder while the wheel is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the file, and name it to the builder."""
        if self.target_name != "wheel":
            return
        core = self.metadata.core
        optional = {extra: core.optional_dependencies[extra] for extra in EXTRAS}
        bill = bill_of_materials(
            Path(self.root),
            self.metadata.version,
            core.license_expression,
            core.dependencies,
            optional,
        )
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name) / NAME
        path.write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8", newline="\n")
        build_data["sbom_files"].append(str(path))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        if self.target_name == "wheel":
            self._folder.cleanup()


def bill_of_materials(
    root: Path, version: str, license: str, required: list[str], optional: dict[str, list[str]]
) -> dict[str, Any]:
    """Return the bill of materials.

    Parameters
    ----------
    root : Path
        The folder of pyproject.toml.
    version : str
        Snellen's version.
    license : str
        Its licence, as SPDX has it.
    required : list of str
        The packages that it needs, each with its versions.
    optional : dict
        Those of each extra.
    """
    itself = f"pkg:pypi/snellen@{version}"
    licenses = [{"license": {"id": license}}]
    models = [
        {
            "type": "machine-learning-model",
            "bom-ref": path.relative_to(root / "src").as_posix(),
            "name": path.relative_to(root / "src").as_posix(),
            "version": version,
            "description": f"model of the package, {path.stat().st_size} bytes",
            "hashes": [
                {"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}
            ],
            "licenses": licenses,
        }
        for path in sorted(root.glob(MODELS))
    ]
    asked: dict[str, list[tuple[str, Requirement]]] = {}
    for extra, lines in {"": required, **optional}.items():
        for line in lines:
            requirement = Requirement(line)
            asked.setdefault(canonicalize_name(requirement.name), []).append((extra, requirement))
    packages = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}",
            "name": name,
            "scope": "required" if any(not extra for extra, _ in uses) else "optional",
            "purl": f"pkg:pypi/{name}",
            "properties": [
                {
                    "name": "snellen:" + (f"extra:{extra}" if extra else "requires"),
                    "value": str(one),
                }
                for extra, one in uses
            ],
        }
        for name, uses in sorted(asked.items())
    ]
    held = runpy.run_path(str(root / VENDORED))
    purl = f"pkg:npm/{held['NAME'].lower()}@{held['VERSION']}"
    library = {
        "type": "library",
        "bom-ref": purl,
        "name": held["NAME"],
        "version": held["VERSION"],
        "scope": "required",
        "licenses": [{"license": {"id": held["LICENCE"]}}],
        "purl": purl,
    }
    parts = [*models, library, *packages]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": itself,
                "name": "snellen",
                "version": version,
                "licenses": licenses,
                "purl": itself,
            }
        },
        "components": parts,
        "dependencies": [
            {"ref": itself, "dependsOn": [part["bom-ref"] for part in parts]},
            *({"ref": part["bom-ref"]} for part in parts),
        ],
    }
    # A number that names this very bill, and is the same whenever it is made again.
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill, sort_keys=True))
    return {"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", **bill,
            "serialNumber": f"urn:uuid:{number}"}  # fmt: skip
