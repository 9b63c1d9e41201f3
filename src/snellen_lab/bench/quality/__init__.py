"""How good enlarged pictures are: standard sets, and clips that are softened, shrunk and coded."""
