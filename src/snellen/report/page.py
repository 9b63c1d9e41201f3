"""The HTML of a report: one file, whose only scripts and styles are those of this package."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from math import isfinite
from typing import Any

from snellen.report import vendored
from snellen.report.contents import STATISTICS, Contents, Facts, Moment

POINTS = 4000  # of a curve: more than a screen has pixels
_WORDS = {"mean": "mean", "median": "median", "min": "least", "max": "greatest",
          "p5": "5th percentile", "p95": "95th percentile"}  # fmt: skip
_KEYS = (
    ("drag, two fingers, wheel", "move and zoom the pictures, all alike"),
    ("← →", "move the divider, where it or the picture has the focus"),
    ("N, P", "next and previous frame"),
    ("1 … 9", "variant on the right side"),
    ("S", "slider, or all side by side"),
    ("H", "heat map: none, HI, LO"),
    ("+, −, 0", "zoom in, zoom out, all of the picture"),
)


@dataclass(frozen=True, eq=False, slots=True)
class Shown:
    """A frame whose pictures are addresses that contain them."""

    moment: Moment
    thumbnail: str
    maps: tuple[Mapping[str, str], ...]
    crops: tuple[str, ...]
    pictures: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """Bytes of all but `pictures`."""
        shades = sum(len(one) for maps in self.maps for one in maps.values())
        return shades + len(self.thumbnail) + sum(map(len, self.crops)) + 400

    def having(self, pictures: tuple[str, ...]) -> Shown:
        """Return this frame with pictures."""
        return replace(self, pictures=pictures)


def page(contents: Contents, shown: Sequence[Shown], kept: str) -> bytes:
    """Return the report as HTML.

    All that comes from outside is escaped. The Content-Security-Policy lets nothing be loaded, and
    runs the scripts of this package only, which it names by their digests.

    Parameters
    ----------
    contents : Contents
    shown : sequence of Shown
        Frames with pictures, in order.
    kept : str
        How pictures are kept.
    """
    styles = [_file("uplot/uPlot.min.css"), _file("page.css")]
    scripts = [_file("uplot/uPlot.iife.min.js"), _file("view.js"), _file("page.js")]
    policy = (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src {_digests(styles)}; script-src {_digests(scripts)}"
    )
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" '
        'content="no-referrer">\n<link rel="icon" href="data:,">\n',
        f"<title>{_text(contents.title)} – Snellen</title>\n",
        *(f"<style>{one}</style>\n" for one in styles),
        "</head><body>\n",
        _body(contents, kept),
        f'<script type="application/json" id="data">{_json(_data(contents, shown))}</script>\n',
        *(f"<script>{one}</script>\n" for one in scripts),
        "</body></html>\n",
    ]
    return "".join(parts).encode()


def _body(contents: Contents, kept: str) -> str:
    count, several = len(contents.names), len(contents.labels) > 2
    against = f"{len(contents.labels) - 1} variants against" if several else "compared with"
    what = "frames" if contents.is_film else "pairs of images"
    rows = f"{count} {what} scored" if count > 1 else "a single picture"
    notes = "".join(f"<li>{_text(one)}</li>" for one in contents.notes)
    return f"""<header><p class="brand">Snellen</p><h1>{_text(contents.title)}</h1>
<p class="sub">{against} {_text(contents.labels[0])} · {rows}</p>
<p class="note">The figures tell how far a picture is from {_text(contents.labels[0])}, not how good
it looks.</p></header>
<main>
<noscript><p class="note">Pictures and curves need JavaScript, which this browser does not run.
All that the page needs is in this file.</p></noscript>
<div id="app"></div>
<section><h2>Figures</h2>{_pooled(contents)}
{f'<ul class="notes">{notes}</ul>' if notes else ""}</section>
<section><h2>Files</h2>{_files(contents)}</section>
<section><h2>How this report was made</h2>{_facts(contents.made)}<p class="note">{_text(kept)}
Crops show the place of a frame where the variants are worst. The file needs no network and sends
nothing.</p>
<details><summary>Keys</summary>{_facts(_KEYS)}</details>
<details><summary>Licence of {vendored.NAME}, which draws the curves</summary>
<pre>{escape(_file("uplot/LICENSE"))}</pre></details></section>
</main>
"""


def _pooled(contents: Contents) -> str:
    """Return a table of statistics; of a single pair its scores."""
    alone = len(contents.names) == 1
    names = ("mean",) if alone else STATISTICS
    head = "".join(f"<th>{'score' if alone else _WORDS[one]}</th>" for one in names)
    parts = []
    for metric in contents.metrics:
        said = (f"{metric.better} is better", metric.unit, metric.scale)
        best = ", ".join(filter(None, said))
        for place, pooled in enumerate(contents.pooled):
            cells = "".join(f"<td>{figure(pooled[metric.name][one])}</td>" for one in names)
            first = (
                f'<th rowspan="{len(contents.pooled)}" scope="rowgroup">{_text(metric.title)}'
                f"<small>{_text(best)}</small></th>"
                if place == 0
                else ""
            )
            name, hue = _text(contents.labels[place + 1]), _hue(place + 1)
            label = f'<th scope="row" class="{hue}">{name}</th>'
            parts.append(f"<tr>{first}{label}{cells}</tr>")
    return (
        f'<div class="wide"><table class="figures"><thead><tr><th></th><th></th>{head}</tr></thead>'
        f"<tbody>{''.join(parts)}</tbody></table></div>"
    )


def _files(contents: Contents) -> str:
    """Return a table with a column for each file."""
    names = list(dict.fromkeys(name for facts in contents.facts for name, _ in facts))
    found = [dict(facts) for facts in contents.facts]
    head = "".join(
        f'<th scope="col" class="{_hue(place)}">{_text(one)}</th>'
        for place, one in enumerate(contents.labels)
    )
    rows = "".join(
        f'<tr><th scope="row">{_text(name)}</th>'
        + "".join(f"<td>{_text(one.get(name, '–'))}</td>" for one in found)
        + "</tr>"
        for name in names
    )
    return (
        f'<div class="wide"><table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody>'
        "</table></div>"
    )


def _hue(place: int) -> str:
    """Return the class of page.css for a file; the reference is 0."""
    return f"v{(place - 1) % 6 + 1 if place else 0}"


def _facts(facts: Facts) -> str:
    lines = (f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in facts)
    return f"<dl>{''.join(lines)}</dl>"


def _data(contents: Contents, shown: Sequence[Shown]) -> dict[str, Any]:
    """Return what the scripts draw."""
    keep, every = thinned(contents, {one.moment.row for one in shown})
    return {
        "labels": [_readable(one) for one in contents.labels],
        "rows": keep,
        "every": every,
        "names": [_readable(contents.names[row]) for row in keep],
        "numbers": [contents.numbers[row] for row in keep],
        "metrics": [
            {"name": one.name, "title": one.title, "unit": one.unit, "better": one.better}
            for one in contents.metrics
        ],
        "scores": [
            {name: [_rounded(values[row]) for row in keep] for name, values in scores.items()}
            for scores in contents.scores
        ],
        "worst": contents.worst,
        "worstBy": contents.worst_by,
        "scales": [
            {"name": one.name, "title": one.title, "brightest": one.brightest}
            for one in contents.scales
        ],
        "palette": [f"#{bytes(colour).hex()}" for colour in contents.palette],
        "moments": [
            {
                "row": one.moment.row, "size": one.moment.size, "aspect": one.moment.aspect,
                "box": one.moment.box, "pictures": one.pictures, "maps": one.maps,
                "crops": one.crops, "thumbnail": one.thumbnail,
            }
            for one in shown
        ],
    }  # fmt: skip


def figure(value: float) -> str:
    """Return a score as the page writes it."""
    return f"{value:.3f}" if isfinite(value) else "∞"


def _rounded(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else float(f"{value:.6g}")


def _file(name: str) -> str:
    """Return a file of this package as it is."""
    return files("snellen.report").joinpath(name).read_bytes().decode()


def _digests(texts: Iterable[str]) -> str:
    hashes = (base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in texts)
    return " ".join(f"'sha256-{one}'" for one in hashes)


def _text(text: str) -> str:
    """Return foreign text as HTML: escaped, and readable."""
    return escape(_readable(text))


def _readable(text: str) -> str:
    """Return a text without what no screen shows: controls, and bytes that are no UTF-8."""
    known = text.encode(errors="replace").decode()
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in known)


def _json(data: Any) -> str:
    """Return data as JSON that ends no element of HTML, in ASCII."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def thinned(contents: Contents, pictured: Collection[int]) -> tuple[list[int], int]:
    """Return the rows that curves are drawn through, and of how many rows each is the worst.

    Of every so many rows it is the worst one of any variant, by `worst_by`, so that no peak
    is lost; those of which there are pictures stay.
    """
    rows = len(contents.names)
    every = -(-rows // POINTS)
    if every == 1:
        return list(range(rows)), 1
    metric = next(one for one in contents.metrics if one.name == contents.worst_by)
    sign = 1 if metric.better == "lower" else -1
    columns = [scores[metric.name] for scores in contents.scores]

    def badness(row: int) -> float:
        found = [column[row] for column in columns]
        return max((sign * one for one in found if one is not None), default=float("-inf"))

    keep = {max(range(at, min(at + every, rows)), key=badness) for at in range(0, rows, every)}
    return sorted(keep | set(pictured) | {row for row, _ in contents.worst}), every
