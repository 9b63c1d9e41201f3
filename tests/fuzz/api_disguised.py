"""Values that work, as those of other libraries: a call does with them what it does without."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from fuzz.api_values import Text

USUAL: dict[str, tuple[Any, ...]] = {
    "align": (False, True), "at": ((0.04,), ["0:00"]), "audio": ("copy", "none"), "batch": (1,),
    "bits": (8, 10), "channel_axis": (-1, None), "chroma": ("auto", "cpu"), "codec": ("libx264",),
    "colour": ("keep", "bt709"), "count": (1,), "crf": (20, 20.5), "crop": ("64:48:8:8", "auto"),
    "data_range": (255, 255.0), "deband": (True,), "deblock": (True,), "decoder": ("cpu",),
    "deinterlace": ("frame", "field", True), "denoise": ("light",), "device": ("cpu", ("cpu",)),
    "dtype": ("float32", "float64"), "duration": (0.08, 1, "0:01", Fraction(1, 25)),
    "edges": ("taper", "circular"), "eight_bit_lut": (True,), "encoder_options": ({"g": "2"},),
    "every": (1, 2), "fit": ("pad", "crop"), "frames": (1, 2), "full_range": (True,),
    "grain": (3, 2.5), "grain_seed": (200,), "height": (88, 100), "hi_scale": (10, 200.0),
    "hold_out": (0,), "interlaced": ("ignore", "top"), "iterations": (2,), "ivtc": (False,),
    "length": (0.04, 1), "map": ("0:v", ("0:v",)), "maps": (True,),
    "max_bitrate": (1_000_000, "1M"), "max_pixels": (20_000,), "method": ("aplus", "auto"),
    "metrics": ("psnr", ("mad", "ssim")),
    "multiframe": (False,), "noise": ("gaussian",), "offset": (0, -1), "on_device": (False,),
    "options": ({"tune": "film"},), "overwrite": (True,), "paste_back": (True,), "patch": (48,),
    "pictures": (2,), "pix_fmt": ("yuv420p",), "policy": ("drop",), "position": ((3, 2),),
    "positions": (((1, 1), (2, 2)),), "preset": ("ultrafast",), "prior": (None, "auto"),
    "profile": (True,), "psf_size": (5,), "psf_start": (2, 1.5), "pts": (200,), "quality": (90,),
    "queue": (2,), "ratio": (0.5, 1), "read_noise": (0.5,), "recentre": (True, "whole"),
    "region": ((1, 2, 8, 8),), "report_size": (5, 30.0), "resize": (True,), "ridge": (0.5, 1),
    "scale": (2, 2.0, 3), "seed": (200,), "segments": (False,), "shape": ((16, 16),),
    "sharpen": (0.5, 1), "siting": ((0.5, 0.5),), "size": ("88x80", (88, 80)),
    "source_kind": ("clean", "film"), "start": (0.04, "0:00", 0, 2), "steps": (200,),
    "strict": (False,), "subsampling": ((1, 1),),
    "target_pool": ("mean",), "vmaf_model": ("neg", "v1"),
    "threads": (1, 2, 200), "tile": (16,), "tolerance": (0.001,),
    "total": (1,), "tv": (0.001,), "variant": ("paper",), "vf": ("hflip",), "warm": (True,),
    "white": (255,), "width": (48, 200), "window": (1,), "workers": (1,), "worst": (2,),
    "x": (3,), "y": (3,),
}  # fmt: skip
"""Values of parameters that are usual, and quick."""


def disguised(rng: random.Random, value: Any, exact: bool = False) -> Any:
    """Return a value as one of another library, or of a derived class, that means the same.

    Unless it is to be exact, a float may lose digits.
    """
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        least = np.min_scalar_type(value).type
        return rng.choice([least, np.int64, least])(value)
    if isinstance(value, float):
        few = [] if exact else [np.float16, np.float32]
        return rng.choice([np.float64, np.longdouble, *few])(value)
    if isinstance(value, Fraction):
        return Fraction(np.int16(value.numerator), np.int16(value.denominator))
    if isinstance(value, str):
        return rng.choice([Text, np.str_])(value)
    if isinstance(value, tuple):
        return tuple(disguised(rng, one, exact) for one in value)
    if isinstance(value, list):
        return [disguised(rng, one, exact) for one in value]
    if isinstance(value, Mapping):
        keys = (disguised(rng, key, exact) for key in value)
        held = (disguised(rng, one, exact) for one in value.values())
        return MappingProxyType(dict(zip(keys, held, strict=True)))
    return value
