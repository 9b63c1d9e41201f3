"""How the documentation site is built: `make docs`, offline, where every warning is an error."""

import sys
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from snellen import schema
from snellen._version import __version__
from snellen.jobs.options.arguments import described

project = "Snellen"
author = "the Snellen authors"
copyright = "2026, the Snellen authors"
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx-mathjax-offline",  # formulas without a network
    "sphinx_click",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
default_role = "py:obj"  # `Upscaler` in a docstring is a link

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give types, shapes and ranges
autodoc_mock_imports = ["cupy", "torch"]
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "furo"
html_title = f"Snellen {version}"
html_copy_source = False


def setup(app: Any) -> None:
    """Let the reference describe the options of jobs, as their fields say them."""
    app.connect("autodoc-process-docstring", _describe, priority=400)  # before numpydoc


def _describe(app: Any, what: str, name: str, thing: Any, how: Any, lines: list[str]) -> None:
    if what == "class" and is_dataclass(thing):
        known = schema.parameters(thing).values()
        own = [one._replace(name=one.path[0]) for one in known if len(one.path) == 1]
        text = "\n".join(map(described, own))
        if own:
            lines += ["", "Parameters", "----------", *text.splitlines(), ""]
