"""Work in flight on a device: prepared state, slots, streams, and several frames at once."""
