"""Makes a report fit a number of bytes: quality first, then the size of pictures, then frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from snellen.errors import InputError
from snellen.report import encode
from snellen.report.contents import Contents, Moment
from snellen.report.page import Shown, page

QUALITIES = (95, 90, 85, 80, 75, 70)  # of WebP
SHARES = (0.75, 0.5, 0.375, 0.25)  # of width and height, at the least quality
_LOSSLESS = 1.6
"""Bytes of a pixel without loss, from which on it is not tried: photographs take 1 to 2."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How pictures are kept."""

    quality: int | None
    """Quality of WebP; None: without loss."""
    share: float
    """Share of width and height."""
    moments: int
    """So many frames."""

    def words(self, given: int) -> str:
        """Return the setting as the report says it; `given` frames were to be shown."""
        kept = "without loss" if self.quality is None else f"as WebP of quality {self.quality}"
        size = "" if self.share == 1 else f", at {100 * self.share:g} % of their width and height"
        count = f"{self.moments} of {given} frames" if self.moments < given else ""
        return f"Pictures are kept {kept}{size}{', ' * bool(count)}{count}; crops without loss."


@dataclass(frozen=True, slots=True)
class Fitted:
    """A report, and what was done to make it fit."""

    html: bytes
    setting: Setting


def fitted(contents: Contents, moments: Sequence[Moment], most: int) -> Fitted:
    """Return the report in at most so many bytes.

    Raises
    ------
    InputError
        Not even one small picture fits.
    """
    files = _Files(contents, moments)
    for setting in _settings(moments, most):
        if files.bytes(setting, most) > most:
            continue
        words = setting.words(len(moments))
        html = page(contents, files.shown(setting), words)
        if len(html) <= most:
            return Fitted(html, setting)
    needed = files.bytes(setting, 1 << 62) / 1e6
    raise InputError(
        f"got `report_size`={most / 1e6:g}; the smallest report of these inputs has {needed:.1f} "
        "million bytes",
        parameter="report_size",
    )


def _settings(moments: Sequence[Moment], most: int) -> Iterator[Setting]:
    count = len(moments)
    pixels = sum(one.samples[..., 0].size for moment in moments for one in moment.pictures)
    if pixels * _LOSSLESS < most:
        yield Setting(None, 1, count)
    for quality in QUALITIES:
        yield Setting(quality, 1, count)
    for share in SHARES:
        yield Setting(QUALITIES[-1], share, count)
    for fewer in range(count - 1, 0, -1):
        yield Setting(QUALITIES[-1], SHARES[-1], fewer)


class _Files:
    """Pictures as they are kept, each made once for a quality and size."""

    def __init__(self, contents: Contents, moments: Sequence[Moment]) -> None:
        self._contents = contents
        self._moments = sorted(moments, key=lambda one: one.rank)
        self._fixed = len(page(contents, (), ""))
        self._made: dict[int, list[str]] = {}
        self._kind: tuple[int | None, float] | None = None
        self._others: dict[int, Shown] = {}

    def bytes(self, setting: Setting, most: int) -> int:
        """Return the bytes of the report; no more are counted where `most` is exceeded."""
        total = self._fixed
        for moment in self._moments[: setting.moments]:
            total += self._other(moment).bytes
            for place in range(len(moment.pictures)):
                if total > most:
                    return total
                total += len(self._picture(moment, place, setting)) + 4
        return total

    def shown(self, setting: Setting) -> tuple[Shown, ...]:
        """Return the frames of a setting, in the order of their rows."""
        found = []
        for moment in sorted(self._moments[: setting.moments], key=lambda one: one.row):
            places = range(len(moment.pictures))
            pictures = tuple(self._picture(moment, place, setting) for place in places)
            found.append(self._other(moment).having(pictures))
        return tuple(found)

    def _picture(self, moment: Moment, place: int, setting: Setting) -> str:
        if self._kind != (setting.quality, setting.share):  # those before are of no use any more
            self._kind = setting.quality, setting.share
            self._made.clear()
        made = self._made.setdefault(moment.row, [])
        while len(made) <= place:
            picture = moment.pictures[len(made)]
            quality, share = setting.quality, setting.share
            made.append(
                encode.lossless(picture)
                if quality is None
                else encode.lossy(picture, quality, share)
            )
        return made[place]

    def _other(self, moment: Moment) -> Shown:
        """Return all of a frame that no setting changes."""
        if moment.row not in self._others:
            palette = self._contents.palette
            self._others[moment.row] = Shown(
                moment,
                encode.thumbnail(moment.pictures[0]),
                tuple(
                    {name: encode.shading(indices, palette) for name, indices in maps.items()}
                    for maps in moment.maps
                ),
                tuple(encode.lossless(crop) for crop in moment.crops),
            )
        return self._others[moment.row]
