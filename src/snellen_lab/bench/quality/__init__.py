"""Measures enlarged pictures: standard sets, and clips that are softened, shrunk and coded."""
