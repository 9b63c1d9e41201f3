"""Part of the build: the wheel gets src/snellen_lab, which is not below this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface[Any]):
    """Names the package to the builder; of an editable installation, a path is enough."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the package to a wheel."""
        if version != "editable":
            source = Path(self.root).parents[1] / "src" / "snellen_lab"
            build_data["force_include"][str(source)] = "snellen_lab"
