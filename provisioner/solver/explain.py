from __future__ import annotations
def because(plan): return []
