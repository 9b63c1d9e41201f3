"""Which of FFmpeg's filters may move pixels or frames, so that their results show something else.

Known are those that do not; all others count as moving: they crop or turn pictures, change the
rate, or are not known.
"""

from __future__ import annotations

from collections.abc import Sequence

from snellen.video.filtering.graph import Filter
from snellen.video.filtering.overlaps import words

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
