"""What a schema cannot see: one small function a question, each over the whole catalogue.

To add one: write a generator in the module of its subject, decorate it with `@question("its name")`, let it yield
`(table, row, what is wrong)`, and plant the fault it is for in `tests/catalog/test_lint.py`.
"""

from __future__ import annotations

from provisioner.catalog.lint.engine import QUESTIONS, Finding, Report, facts, facts_in, lint

__all__ = ["QUESTIONS", "Finding", "Report", "facts", "facts_in", "lint"]
