"""Metrics beside MAD, of two planes of luma: PSNR and SSIM. VMAF is FFmpeg's: `video.vmaf`."""
