"""SSIMULACRA 2.1: `cpu.py` computes it, by the constants of `definition.py`."""
