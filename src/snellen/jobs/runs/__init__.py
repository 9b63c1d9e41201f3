"""How each kind of job is run: images, films, pairs of them."""
