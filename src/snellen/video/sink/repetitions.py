"""How often an output is played: animations state it, films do not."""

from __future__ import annotations

from snellen.video.animations import FOR_EVER
from snellen.video.media import MediaInfo

_MOST_PLAYS = {"gif": 65536, "webp": 65535, "avif": 2**31 - 1}
"""Most plays that the formats state, beside those without an end."""
UNREPEATED = "holds no repetitions"
"""The warning about formats without them."""


def losses(info: MediaInfo, muxer: str, suffix: str) -> tuple[str, ...]:
    """Return what an output does not hold of how often an animation is played."""
    plays, most = info.plays, _MOST_PLAYS.get(muxer, 1)
    if plays is None or plays == 1 or (most > 1 and plays <= most):
        return ()
    if most > 1:
        return (f"it is played {plays:,} times, of which {suffix} states {most:,}",)
    often = "for ever" if plays == FOR_EVER else f"{plays:,} times"
    return (f"it is played {often}: {suffix} {UNREPEATED}",)


def loop(plays: int | None, muxer: str) -> str:
    """Return the option "loop" of FFmpeg's muxers of GIF, WebP and AVIF.

    `plays`: as of `MediaInfo`; a film without them is played for ever.
    """
    plays = min(plays or FOR_EVER, _MOST_PLAYS[muxer])
    if muxer == "gif" and plays != FOR_EVER:
        return str(plays - 1 or -1)  # repetitions; -1: none
    return str(plays)
