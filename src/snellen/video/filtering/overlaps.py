"""How many frames on each side of a frame FFmpeg's filters look at, and which filters move pixels.

A film is made in segments, each of which begins that many frames early. For filters that are not in
this table 16 frames are taken, which is said. There is no such number where a result depends on all
frames before it, or on their number: those films are made in one piece.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from snellen.frames.values import decimal
from snellen.video.filtering.graph import Filter
from snellen.video.filtering.parse import options
from snellen.video.filtering.side_files import outputs

UNKNOWN = 16
"""Frames that are taken where nothing is known."""


def words(text: str) -> frozenset[str]:
    """Return the words of a text, names of filters."""
    return frozenset(text.split())


_SPATIAL = words("""
addroi avgblur bbox bilateral bitplanenoise blockdetect blurdetect bm3d cas chromahold chromakey
chromanr chromashift ciescope codecview colorbalance colorchannelmixer colorcontrast
colorcorrect colordetect colorhold colorize colorkey colorlevels colormatrix colorspace
colorspectrum colortemperature convolution copy crop curves datascope dblur dctdnoiz deband
deblock deflate delogo despill dilation drawbox drawgrid edgedetect entropy epx
erosion estdif exposure fftfilt field fillborders floodfill format gblur geq gradfun grayworld
hflip histogram hqx hsvhold hsvkey hue huesaturation il inflate kirsch lenscorrection
limiter lumakey lut lut1d lut3d lutrgb lutyuv maskfun median monochrome morpho negate nlmeans
noformat null pad perspective pixdesctest pixelize pixscope prewitt pseudocolor
removegrain removelogo rgbashift roberts rotate scale scharr scroll selectivecolor setdar
setfield setparams setrange setsar settb shear showinfo showpalette shuffleplanes sierpinski
signalstats siti smartblur sobel stereo3d super2xsai swaprect swapuv threshold
tonemap transpose unsharp v360 vectorscope vflip vibrance vif waveform xbr
yaepblur
""")
"""Filters of each frame alone, unless one of their options reads the frame's number."""
_NEIGHBOURS = {
    "bwdif": 1,
    "dedot": 2,
    "fftdnoiz": 1,
    "fps": 1,
    "tblend": 1,
    "w3fdif": 1,
    "yadif": 1,
}
_ENDLESS = words("""
bench cellauto cue decimate dejudder deshake detelecine doubleweave elbg fade fieldhint fieldmatch
fieldorder framerate framestep freezeframes fsync greyedge lagfun latency life loop metadata
minterpolate noise oscilloscope perms perlin photosensitivity random realtime reverse scdet
segment select sendcmd separatefields setpts shuffleframes shufflepixels telecine thistogram
thumbnail tile tiltandshift tpad trim vfrdet vignette weave zoompan
""")
_NUMBERS = re.compile(r"\b(n|N|pos|randomi?|ld)\b")
"""Names that expressions have for the number of a frame, and functions with a state."""


def reach(filters: Sequence[Filter]) -> int | None:
    """Return the frames on each side that the results of a chain depend on; None: no bound."""
    if outputs(filters):  # each part of a film would write the same file
        return None
    total = 0
    for one in filters:
        own = _reach(one)
        if own is None:
            return None
        total += own
    return total


def unknown(filters: Sequence[Filter]) -> tuple[str, ...]:
    """Return the names of filters of which it is not known."""
    known = _SPATIAL | _NEIGHBOURS.keys() | _ENDLESS | _SIZED.keys()
    return tuple(dict.fromkeys(one.name for one in filters if one.name not in known))


def _reach(one: Filter) -> int | None:
    if one.name in _ENDLESS:
        return None
    if one.name in _SPATIAL:
        return None if _NUMBERS.search(one.arguments) else 0
    if one.name in _SIZED:
        return _SIZED[one.name](one)
    return _NEIGHBOURS.get(one.name, UNKNOWN)


def _number(one: Filter, names: Sequence[str], usual: int, most: int) -> int:
    """Return a whole number among a filter's options; `most` where it may stand without name."""
    given = options(one)
    for name, value in given:
        if name in names:
            found = decimal(value)
            return most if found is None else found
    return most if any(name is None for name, _ in given) else usual


_SIZED = {
    "atadenoise": lambda one: _number(one, ("s",), 9, 129) // 2,
    "tmedian": lambda one: 2 * _number(one, ("radius",), 1, 127) + 1,
    "tmix": lambda one: _number(one, ("frames",), 3, 1024),
    "deflicker": lambda one: _number(one, ("size", "s"), 5, 129),
}
"""Filters whose options say how many frames they see."""


_STAYING = words("""
atadenoise avgblur bilateral bitplanenoise bm3d cas chromahold chromakey chromanr colorbalance
colorchannelmixer colorcontrast colorcorrect colorhold colorize colorkey colorlevels colormatrix
colorspace colortemperature convolution copy curves dblur dctdnoiz deband deblock dedot deflate
deflicker delogo despill dilation drawbox drawgrid edgedetect elbg epx erosion exposure fade
fftdnoiz fftfilt fillborders format gblur gradfun grayworld greyedge hqx hsvhold hsvkey hue
huesaturation inflate kirsch limiter lumakey lut lut1d lut3d lutrgb lutyuv median monochrome
negate nlmeans noformat noise normalize null pixelize prewitt pseudocolor removegrain removelogo
rgbashift roberts scale scharr selectivecolor setdar setparams setrange setsar showinfo smartblur
sobel super2xsai tmedian tmix tonemap unsharp vibrance vignette xbr yaepblur
""")
"""Those that change the size scale the whole picture."""


def moving(filters: Sequence[Filter]) -> tuple[str, ...]:
    """Return the names of those filters of a chain that may move pixels or frames."""
    return tuple(dict.fromkeys(one.name for one in filters if one.name not in _STAYING))
