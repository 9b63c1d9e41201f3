"""What real sources are like: a camera softens, a kernel shrinks, an encoder codes.

Training of every method and its evaluation make such material here, from pictures without faults.
"""
