"""prior="l0": estimation of the PSF from the edges of one picture, from coarse to fine."""
