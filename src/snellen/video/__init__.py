"""Video in, video out: `pipeline` is the road; CONTRIBUTING.md says which file holds what."""
