"""What a user has to know about a plan that fits: its warnings."""

from __future__ import annotations

from provisioner.solver import tables as t
from provisioner.solver.explain import is_ready
from provisioner.solver.reasons import wheel_name
from provisioner.solver.words import say
from provisioner.versions import number as version_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from provisioner.solver.plan import Plan

    _Found = list[tuple[str, str, dict[str, Any]]]


def caveats(plan: Plan) -> list[dict[str, str]]:
    """{"code", "text"} each, the gravest first."""
    told: list[dict[str, str]] = []
    for found in (_certainty(plan), _driver(plan), _fabric(plan), _place(plan), _toolkit(plan), _packages(plan), _own(plan)):
        told += [{"code": code, "text": say(plan.lang, "warn-" + (words or code), **values)} for code, words, values in found]
    return told




def _certainty(plan: Plan) -> _Found:
    q, answer = plan.question, plan.answer
    wheel = answer.wheel
    found: _Found = []
    if answer.unsure:
        unlisted = [card for card in q.cards or () if card.first_driver and answer.driver and q.machine.drivers == "linux"
                    and not q.drivers.listed(card)[0] >> plan.world[q.driver] & 1]
        if unlisted:
            what = say(plan.lang, "unlisted", driver=answer.driver, card=unlisted[0].name, first=unlisted[0].first_driver)
        elif q.machine.platform.startswith("linux") and (not q.machine.glibc or not wheel[t.GLIBC]) and q.machine.kind != "jetson":
            what = say(plan.lang, "glibc-unknown", os=q.machine.os, needs=wheel[t.GLIBC] or "?")
        else:
            what = say(plan.lang, "kernels-unknown", wheel=wheel_name(wheel))
        found.append(("unknown", "", {"what": what}))
    elif q.cards and wheel[t.ARCH_CONFIDENCE] == "derived":
        found.append(("derived", "", {"wheel": wheel_name(wheel), "source": wheel[t.ARCH_SOURCE]}))
    if q.cards and plan.world[q.kernels] == 1:
        found.append(("ptx", "", {"cards": ", ".join(card.name for card in q.cards)}))
    for card in q.cards or ():
        if card.others:
            found.append(("shared-name", "", {"card": card.name, "sm": f"sm_{card.sm}",
                                              "others": ", ".join(f"sm_{each}" for each in card.others)}))
    if q.cards is None and wheel[t.CUDA] and q.machine.kind != "jetson":
        found.append(("no-gpu-named", "", {}))
    return found


def _driver(plan: Plan) -> _Found:
    q, answer = plan.question, plan.answer
    here, cuda = q.machine, plan.answer.wheel[t.CUDA]
    found: _Found = []
    shown = plan.choices["driver"]
    floor = t.floor_of(q.drivers.table["floors"], cuda) if cuda else ""
    if q.cards == () and (q.spec.driver.version or q.spec.driver.source != "auto" or q.spec.driver.flavour != "auto") and not shown:
        found.append(("driver-ignored", "", {}))
    if here.kind == "wsl" and cuda:
        found.append(("wsl", "", {"floor": floor}))
    elif here.kind == "container" and cuda:
        found.append(("container", "", {"floor": floor}))
    elif here.kind == "jetson" and cuda:
        row = next((row for row in q.jetpacks if row.l4t == answer.wheel[t.PLATFORM].removeprefix("jetson-")), None) or (
            q.jetpacks[-1] if q.jetpacks else None)
        if row:
            found.append(("jetpack", "", {"jetpack": row.jetpack, "l4t": row.l4t}))
    if answer.origin == "preinstalled" and here.installs_driver and cuda and not shown:
        found.append(("driver-there", "", {"floor": floor}))
    if not answer.driver or not shown:
        return found
    if answer.compat:
        found.append(("compat", "", {"cuda": cuda, "package": answer.compat}))
    elif plan.world[q.support] and cuda:
        found.append(("minor", "", {"driver": answer.driver, "cuda": cuda}))
    row = q.catalog.row("driver_branches", answer.branch)
    if row and 1 << plan.world[q.driver] & (q.drivers.table["ended"] | (q.drivers.extra if row.end_of_life and
                                                                       row.end_of_life[:7] < q.tables["date"][:7] else 0)):
        found.append(("ended", "", {"branch": answer.branch, "end": row.end_of_life}))
    if answer.origin == "runfile":
        found.append(("runfile", "", {"driver": answer.driver, "os": here.os}))
    if here.installs_driver and here.drivers == "linux" and answer.origin != "preinstalled":
        if q.spec.target.secure_boot:
            found.append(("secure-boot", "", {}))
        if not q.cards:
            found.append(("flavour-free", "", {}))
        if row and row.last_kernel and here.kernel and version_key(here.kernel) > version_key(row.last_kernel):
            found.append(("kernel", "", {"driver": answer.driver, "last": row.last_kernel, "kernel": here.kernel}))
    return found


def fabric(plan: Plan) -> str:
    """Whether Fabric Manager belongs to the plan: "yes", "maybe" (the number of cards suggests it) or "no"."""
    q = plan.question
    if q.machine.kind != "host" or q.machine.drivers != "linux" or not plan.answer.driver or not q.cards:
        return "no"
    if q.spec.target.nvswitch is not None:
        return "yes" if q.spec.target.nvswitch else "no"
    boards = [card for card in q.cards if card.nvswitch]
    if any(card.number > 4 for card in boards):
        return "yes"
    return "maybe" if any(card.number > 1 for card in boards) or any(card.number >= 8 and card.forward_compat for card in q.cards) else "no"


def _fabric(plan: Plan) -> _Found:
    q, answer = plan.question, plan.answer
    wanted = fabric(plan)
    found: _Found = []
    cards = [card for card in q.cards or () if card.nvswitch] or list(q.cards or ())
    names = ", ".join(f"{card.number} x {card.name}" if card.number > 1 else card.name for card in cards)
    if wanted == "yes":
        found.append(("fabric", "fabric", {"cards": names, "driver": answer.driver}))
        if any(card.architecture.startswith("Blackwell") and card.nvswitch for card in cards):
            found.append(("nvlsm", "", {"cards": names}))
    elif wanted == "maybe":
        card = max(cards, key=lambda each: each.number)
        found.append(("fabric", "fabric-maybe", {"count": card.number, "card": card.name}))
    racks = [card.name for card in q.cards or () if q.machine.arch == "aarch64" and card.architecture.startswith("Blackwell")
             and card.forward_compat and card.sm in (100, 103)]
    if racks and answer.driver and q.machine.kind == "host":
        found.append(("imex", "", {"cards": ", ".join(racks)}))
    return found


def _place(plan: Plan) -> _Found:
    q = plan.question
    system = q.machine.system
    found: _Found = []
    if system.end_of_life and system.end_of_life[:7] < q.tables["date"][:7]:
        found.append(("system-ended", "", {"os": system.id, "end": system.end_of_life}))
    if q.machine.platform.startswith("win") and plan.answer.wheel[t.CUDA]:
        found.append(("cuda-windows-nccl", "", {}))
    return found


def _toolkit(plan: Plan) -> _Found:
    q, answer = plan.question, plan.answer
    cuda = answer.wheel[t.CUDA]
    found: _Found = []
    if answer.toolkit:
        if cuda and t.minor(answer.toolkit) != cuda:
            found.append(("toolkit-minor", "", {"toolkit": t.minor(answer.toolkit), "cuda": cuda}))
        if plan.world[q.compiler]:
            found.append(("gcc", "", {"toolkit": t.minor(answer.toolkit), "os": q.machine.os, "gcc": q.machine.gcc,
                                      "last": q.tables["toolkits"]["gcc_last"].get(t.minor(answer.toolkit), "?")}))
        if q.spec.installer in ("conda", "pixi"):
            found.append(("toolkit-conda", "", {}))
    for name, index in (("cudnn", t.CUDNN), ("nccl", t.NCCL)):
        if plan.world[q.cudnn if name == "cudnn" else q.nccl]:
            found.append(("system-library", "", {"name": {"cudnn": "cuDNN", "nccl": "NCCL"}[name], "bundled": answer.wheel[index] or "",
                                                 "version": answer.library(name)}))
            from provisioner.solver.artefacts import built_for

            major = built_for(plan, name)
            if major.endswith("."):
                found.append(("library-build", "", {"name": {"cudnn": "cuDNN", "nccl": "NCCL"}[name], "version": answer.library(name),
                                                    "major": major.rstrip(".")}))
    return found


def _packages(plan: Plan) -> _Found:
    q, answer = plan.question, plan.answer
    found: _Found = []
    for name in q.unchecked:
        found.append(("unchecked", "", {"package": name}))
    for plain, (name, pair, _) in q.packages.items():
        row = answer.release(plain)
        values = {"package": name, "version": row[t.P_VERSION]}
        if not is_ready(answer, plain):
            found.append(("source", "", values))
        elif row[t.P_FILE]:
            found.append(("release-page", "", values))
        elif answer.wheel[t.CHANNEL] != "pip":
            found.append(("foreign-index", "", values | {"place": "conda-forge"}))
        elif answer.wheel[t.PLATFORM].startswith("jetson"):
            found.append(("foreign-index", "", values | {"place": answer.wheel[t.INDEX_URL]}))
        if plan.world[pair] and row[t.P_PAIR]:
            found.append(("wide", "", values | {"pair": row[t.P_PAIR], "torch": answer.wheel[t.TORCH]}))
    return found


def _own(plan: Plan) -> _Found:
    """Rows of the user's overlay that this plan rests on."""
    catalog = plan.catalog
    if not catalog.overlaid:
        return []
    q, wheel = plan.question, plan.answer.wheel
    build = (wheel[t.TORCH], wheel[t.BUILD], wheel[t.PLATFORM], wheel[t.CHANNEL])
    asked: list[tuple[str, tuple[str, ...]]] = [
        ("systems", (q.machine.os,)), ("torch_releases", (wheel[t.TORCH],)), *((table, build) for table in ("torch_builds", "torch_archs", "torch_pins")),
        ("driver_branches", (plan.answer.branch,)), ("driver_releases", (plan.answer.driver, q.machine.drivers)), ("toolkits", (plan.answer.toolkit,)),
        *(("companions", (plain, q.tables["packages"][plain]["rows"][plan.world[q.packages[plain][2]]][t.P_VERSION])) for plain in q.packages)]
    rows = [(table, catalog.row(table, *key)) for table, key in asked]
    names = {card.name for card in q.cards or ()}
    rows += [("gpus", row) for row in catalog.gpus if row.name in names]
    told = dict.fromkeys(f"{table} {' '.join(str(part) for part in row[:2] if part)}" for table, row in rows
                         if row is not None and catalog.from_overlay(table, row))
    return [("own-rows", "", {"rows": ", ".join(told)})] if told else []
