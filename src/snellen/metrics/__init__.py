"""Metrics beside MAD, of luma or linear colours of two pictures. VMAF is FFmpeg's: `video.vmaf`."""
