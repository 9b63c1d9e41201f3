"""MAD, most apparent distortion: how far a picture is from its reference, as people see it."""
