"""Whole calls as a user makes them, each in a fresh process whose caches are empty."""
