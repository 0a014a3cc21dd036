"""Spec, host facts and catalogue in; a proven plan, or a minimal conflict, out."""
