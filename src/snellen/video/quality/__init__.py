"""Target quality: encoder settings that give a film the score that is asked for.

excerpts.py: which excerpts, and their frames through the step; trial.py: what an encoder makes of
them; search.py: the next setting to try; hunt.py joins these; values.py: what others see.
"""
