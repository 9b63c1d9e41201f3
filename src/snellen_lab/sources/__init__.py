"""Real sources are made like this: a camera softens, a kernel shrinks, an encoder codes.

Training of every method and its evaluation make such material here, from pictures without faults.
"""
