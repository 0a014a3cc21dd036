from __future__ import annotations
def caveats(plan): return []
