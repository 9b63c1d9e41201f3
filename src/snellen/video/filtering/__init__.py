"""Filters between the decoder and the encoder, as steps: FFmpeg's, and cropping."""
