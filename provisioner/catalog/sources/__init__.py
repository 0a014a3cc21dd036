"""Readers of the places that facts come from: pure functions from an answer's text to typed values."""
