"""Enhancement of frames that FFmpeg's filters do not do, or not in the depth of the frames."""
