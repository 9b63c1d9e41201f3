"""Super-resolution by a compact network of 3×3 convolutions."""
