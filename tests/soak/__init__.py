"""Long runs in one process: memory, descriptors and threads stay flat; see README.md."""
