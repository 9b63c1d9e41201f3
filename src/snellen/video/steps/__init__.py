"""Steps that are made of others: chains, alpha channels, a region of the picture."""
