"""Video in, video out: `convert` and `compare`, which know no method of their own."""
