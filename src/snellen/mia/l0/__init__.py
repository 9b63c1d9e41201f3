"""prior="l0": the PSF from sharp edges, from coarse to fine."""
