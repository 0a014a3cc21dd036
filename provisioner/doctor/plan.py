"""The plan that would work for the machine at hand: the facts of a text as a spec, put to the solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from provisioner.doctor import look

if TYPE_CHECKING:
    from provisioner.doctor.facts import Facts
    from provisioner.spec.types import Spec

#: findings that another torch build, driver or Python mends
PLANNED = frozenset((
    "cpu-only-wheel", "conda-cpu-build", "aarch64-cpu-wheel", "jetson-wheel", "driver-missing", "driver-too-old-for-wheel",
    "open-module-flavour-mismatch", "legacy-driver-branch-needed", "arch-too-new-for-wheel", "arch-too-old-for-wheel",
    "torchvision-mismatch", "pip-no-wheel-python", "pip-wrong-index", "glibc-or-libstdcxx-too-old", "torch-min-version-security",
    "numpy2-abi", "ld-library-path-shadow", "cudnn-version-mix", "nccl-version-mix"))
_DRIVER_STAYS = frozenset(PLANNED - {"driver-missing", "open-module-flavour-mismatch", "legacy-driver-branch-needed"})
_TEXTS = {
    "en": "What fits this machine[[ ({gpu})]]: torch {torch}[[ with driver {driver}]], Python {python}.",
    "zh": "适合该机器[[({gpu})]]的组合:torch {torch}[[,驱动 {driver}]],Python {python}。",
}


def spec_of(code: str, facts: Facts, held: Any, values: dict[str, str]) -> Spec | None:
    """The facts as a spec; None when they say too little to be worth a plan."""
    from provisioner.spec.types import DriverWish, Spec, Target

    listed = [fact for fact in facts.all("gpu") if fact.strength >= 3] or facts.all("gpu")
    products = [look.gpu(fact.value) for fact in listed]
    cards = tuple(dict.fromkeys(each.name for each in products if each is not None))
    if not cards and values.get("sm"):
        cards = (values["sm"],)
    if not cards and not values.get("driver"):
        return None
    system, glibc = values.get("os", ""), values.get("glibc") or None
    kind = "jetson" if values.get("l4t") else "wsl" if "wsl" in held else "host"
    arch = "aarch64" if "aarch64" in held or kind == "jetson" else "x86_64"
    if "windows" in held and not system:
        system, glibc = "windows", None
    elif "macos" in held:
        return None
    elif not system:
        system, glibc, kind = "linux", glibc or "2.35", "host"
    driver = values.get("driver", "")
    wish = DriverWish()
    if driver.count(".") >= 1 and code in _DRIVER_STAYS:
        wish = DriverWish(version=driver, keep=True)
    python = ".".join(values["python"].split(".")[:2]) if values.get("python") else None
    return Spec(Target(system, arch, kind, glibc=glibc, l4t=values.get("l4t") or None), gpus=cards or None, driver=wish, python=python,
                packages=(("torchvision", "*"),))


def solve(code: str, facts: Facts, held: Any, values: dict[str, str]) -> dict[str, Any] | None:
    """The solver's choices for the machine; None when there is no plan, or nothing to plan for."""
    if code not in PLANNED or look.catalog() is None:
        return None
    from provisioner.errors import Problem, ProblemList
    from provisioner.solver.plan import Plan
    from provisioner.solver.plan import solve as ask

    spec = spec_of(code, facts, held, values)
    if spec is None:
        return None
    from provisioner.spec.types import DriverWish

    for tried in (spec, spec._replace(python=None), spec._replace(driver=DriverWish())):
        try:
            answer = ask(tried, look.catalog())
        except (Problem, ProblemList):
            return None
        if isinstance(answer, Plan) and answer.choices.get("cuda_build") != "cpu":
            return answer.choices
    return None


def step(choices: dict[str, Any], values: dict[str, str], lang: str) -> tuple[str, str]:
    """The plan as a sentence and the command that installs its wheels."""
    from provisioner.doctor.fill import fill

    driver = str(choices.get("driver") or "")
    if driver and choices.get("driver_source") != "preinstalled":
        driver = f"{choices.get('driver_branch')} ({driver}, {choices.get('driver_flavour')})" if choices.get("driver_flavour") else driver
    text = fill(_TEXTS[lang], {"gpu": values.get("gpu", ""), "torch": str(choices["torch"]), "driver": driver,
                               "python": str(choices["python"])})
    packages = " ".join(f'"{name}=={version.split("+")[0]}"' for name, version in
                        (("torch", choices["torch"]), *choices.get("packages", {}).items()))
    index = choices.get("index_url")
    return text, f"python -m pip install {packages}" + (f" --index-url {index}" if index else "")
