"""Mutations: does a quick test notice when a line becomes wrong? `make mutants` runs them."""
