"""Names of sample types in kernels."""

C_TYPES = {"uint8": "uint8_t", "uint16": "uint16_t", "float32": "float"}
