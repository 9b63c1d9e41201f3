"""C++ types of samples, by the names of their NumPy types."""

C_TYPES = {
    "uint8": "uint8_t", "uint16": "uint16_t", "float16": "Half", "float32": "float",
    "float64": "double",
}  # fmt: skip
