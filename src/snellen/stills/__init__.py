"""Still images in files: Pillow, TIFF, HEIC, raw; with what belongs to them."""
