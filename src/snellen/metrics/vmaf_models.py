"""VMAF's models, which libvmaf has built in: https://github.com/Netflix/vmaf, resource/doc.

Those of version 1 came out in June 2026, and score otherwise: the same noise may have 20 points
less.
"""

from __future__ import annotations

from dataclasses import dataclass

AUTO = "auto"
LARGE = 2560 * 1440
"""Pixels from which on a picture is taken for one on a 4K screen."""
SMALLEST = 17
"""Pixels of a side for version 0: where one has fewer, libvmaf ends the process (FFmpeg 9.0)."""
LONGER = 216
"""Pixels of the longer side for version 1, whose CAMBI looks for banding in no smaller pictures."""


@dataclass(frozen=True, slots=True)
class Model:
    """One model."""

    version: str
    """libvmaf's name of it."""
    smallest: int = SMALLEST
    """Least pixels of a side: of smaller pictures libvmaf 3.2 ends the process."""
    reach: int = 1
    """Frames before and after each that its score depends on."""
    phone: bool = False
    """True: scores are transformed to those of a phone, as version 0 has it (enable_transform)."""

    @property
    def looks_at_chroma(self) -> bool:
        """Return whether scores depend on chroma, and on no more than 10 bits: version 1."""
        return "_v1." in self.version

    @property
    def name(self) -> str:
        """Its name in outputs."""
        return f"{self.version} (phone)" if self.phone else self.version


def _of_version_1(frames: str, reach: int) -> dict[str, Model]:
    """Return the models of version 1 for a range of frame rates."""
    # The distance of the viewer in heights of the screen scales pictures down, so that the least
    # size varies.
    sizes = {"": ("3d0h", 160), "-phone": ("5d0h", 266), "-4k": ("1d5h_2160", 160),
             "-4k-3h": ("3d0h_2160", 318)}  # fmt: skip
    return {
        f"v1{'-' * bool(frames)}{frames}{kind}": Model(
            f"vmaf_v1.0.16_{frames}{'_' * bool(frames)}{view}", least, reach
        )
        for kind, (view, least) in sizes.items()
    }


MODELS: dict[str, Model] = {
    "v0.6.1": Model("vmaf_v0.6.1"),
    "4k": Model("vmaf_4k_v0.6.1"),
    "phone": Model("vmaf_v0.6.1", phone=True),
    "neg": Model("vmaf_v0.6.1neg"),
    "4k-neg": Model("vmaf_4k_v0.6.1neg"),
    **_of_version_1("", 1),
    **_of_version_1("hfr", 4),
}
"""By the name in `vmaf_model`."""
NAMES = (AUTO, *MODELS)


def model(name: str, width: int, height: int) -> Model:
    """Return the model of a name; "auto" is version 0.6.1, for 4K screens or not, by size."""
    if name == AUTO:
        name = "4k" if width * height >= LARGE else "v0.6.1"
    return MODELS[name]
