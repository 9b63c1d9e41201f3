"""Plain MIA: the functions of Snellen, whose default is to search the blur of stills by a prior."""

from __future__ import annotations

from functools import partial

import snellen

deblur = partial(snellen.deblur, prior=None)
deblur_file = partial(snellen.deblur_file, prior=None)
