"""The verbs; the only room that prints."""
