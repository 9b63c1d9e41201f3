"""Messages of FFmpeg, and complaints about an input among them."""
