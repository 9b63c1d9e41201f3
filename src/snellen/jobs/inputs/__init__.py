"""Inputs of jobs: files, folders, patterns and sequences of pictures, and how outputs are named."""
