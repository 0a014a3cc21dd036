"""`provision matrix` and `provision plan` answer the same questions by two different ways; here they are held to each other."""

from __future__ import annotations

import random

import pytest

from provisioner.catalog.ask import matrix
from provisioner.catalog.load import Catalog, load
from provisioner.solver.plan import Plan, solve
from provisioner.spec.load import load as read_spec

GPUS = ("Tesla K80", "GTX 970", "GTX 1080 Ti", "V100", "T4", "RTX 2080 Ti", "A100-SXM4-80GB", "RTX 3090", "RTX 4090", "L40S", "H100 SXM",
        "B200", "RTX 5090", "GB300", "sm_61", "sm_89", "sm_120")
TARGETS = (("rhel9", "x86_64"), ("ubuntu2204", "x86_64"), ("ubuntu2404", "aarch64"), ("debian12", "x86_64"), ("windows", "x86_64"),
           ("ubuntu1804", "x86_64"), ("wsl-ubuntu", "x86_64"))


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load(overlays=False)


@pytest.mark.parametrize("seed", range(8))
def test_they_agree(catalog: Catalog, seed: int) -> None:
    """A combination is in the matrix exactly when the spec that asks for it has a plan."""
    chance = random.Random(seed)
    drivers = [row.latest for row in catalog.driver_branches if row.kind != "beta"] + ["525.60.13", "450.80.02", "570.86.10", "580.65.06"]
    differ = []
    for _ in range(6):
        gpu, (os, arch) = chance.choice(GPUS), chance.choice(TARGETS)
        driver = chance.choice(drivers) if chance.random() < 0.6 and os not in ("windows", "wsl-ubuntu") else None
        found = matrix(catalog, gpu=gpu, driver=driver, os=os, arch=arch, every=True)
        works = {(row.torch, row.build) for row in found.rows if row.channel == "pip"}
        platform = "win_amd64" if os == "windows" else f"linux_{arch}"
        builds = [row for row in catalog.torch_builds if row.channel == "pip" and row.platform == platform and row.cuda]
        for build in chance.sample(builds, 6):
            text = (f'spec: 1\ntarget: {{os: {os}, arch: {arch}}}\ngpus: ["{gpu}"]\ntorch: "=={build.torch}"\ncuda: {build.build}\n'
                    + (f'driver: {{version: "{driver}", keep: true}}\n' if driver else ""))
            plan = solve(read_spec("spec.yaml", text=text.encode()), catalog)
            if isinstance(plan, Plan) != ((build.torch, build.build) in works):
                why = [each.reason for each in found.left if (each.torch, each.build) == (build.torch, build.build)]
                differ.append((gpu, os, arch, driver, build.torch, build.build, isinstance(plan, Plan), why[:1],
                               "" if isinstance(plan, Plan) else [each.get("text") for each in plan.document()["conflict"]]))
    assert differ == []
