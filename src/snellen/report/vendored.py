"""The one library of others in this package: uPlot, which draws the curves of reports.

Its files are those of the npm package, unchanged; a test checks their digests.
"""

from __future__ import annotations

NAME = "uPlot"
VERSION = "1.6.32"
LICENCE = "MIT"
SOURCE = "https://registry.npmjs.org/uplot/-/uplot-1.6.32.tgz"
SHA256 = {
    "uplot/LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
    "uplot/uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uplot/uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}
"""Digests of the files in this folder."""
