"""What people call things: products and operating systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from provisioner.errors import Problem, nearest

if TYPE_CHECKING:
    from provisioner.catalog.load import Catalog
    from provisioner.catalog.model import Gpu, System

#: Words that say nothing about which product it is.
_NOISE = ("nvidia", "geforce", "tesla", "quadro", "graphics", "gpu", "corporation", "(tm)", "(r)", "generation")


def fold_gpu(text: str) -> str:
    """A product's name without case, spaces, hyphens and words that say nothing: "NVIDIA GeForce RTX 4090" -> "rtx4090"."""
    words = text.lower().replace("-", " ").replace("_", " ").replace("/", " ").split()
    kept = "".join(word for word in words if word not in _NOISE)
    return kept or "".join(words)


def capability(text: str) -> int | None:
    """A compute capability as people write it ("sm_89", "8.9", "compute_89", "cc 8.9"), as an integer; None when it is not one."""
    folded = text.strip().lower().replace(" ", "")
    for lead in ("sm_", "sm", "compute_", "cc"):
        if folded.startswith(lead):
            folded = folded[len(lead):]
            break
    else:
        if "." not in folded:
            return None
    folded = folded.rstrip("af")
    major, dot, minor = folded.partition(".")
    if dot:
        return int(major) * 10 + int(minor) if major.isdigit() and minor.isdigit() and len(minor) == 1 else None
    return int(folded) if folded.isdigit() and 2 <= len(folded) <= 3 else None


def find_gpu(catalog: Catalog, text: str) -> list[Gpu]:
    """Products that `text` can mean, best first; several when the name is shared. Raises Problem when nobody knows it."""
    wanted = text.strip()
    lowered = wanted.lower()
    sm = capability(wanted)
    if sm is not None:
        known = catalog.row("capabilities", sm)
        if known is None:
            raise Problem("gpu-unknown", f"no GPU of capability {wanted} is known",
                          todo=f"known are {', '.join(f'sm_{row.sm}' for row in catalog.capabilities)}")
        return [gpu for gpu in catalog.gpus if gpu.sm == sm]
    if lowered.startswith("10de:"):
        device, _, subsystem = lowered[5:].partition(":")
        found = [gpu for gpu in catalog.gpus if gpu.pci_id == device]
        exact = [gpu for gpu in found if subsystem and subsystem in gpu.subsystems]
        if found:
            return exact or [gpu for gpu in found if not gpu.subsystems] or found
        raise Problem("gpu-unknown", f"no NVIDIA product has the PCI id {wanted}", todo="write its name, or its capability as sm_NN")
    exact = [gpu for gpu in catalog.gpus if gpu.name.lower() == lowered]
    if exact:
        return exact
    alias = catalog.row("gpu_aliases", lowered.replace(" ", "").replace("-", "")) or catalog.row("gpu_aliases", fold_gpu(wanted))
    if alias is not None:
        return [gpu for gpu in catalog.gpus if gpu.name == alias.name]
    folded = fold_gpu(wanted)
    index = catalog.extra("gpu-names", _index, "1")
    found = [gpu for gpu in catalog.gpus if gpu.name in set(index.get(folded, ()))]
    if found:
        return found
    near = nearest(folded, list(index))
    names = [index[each][0] for each in near]
    raise Problem("gpu-unknown", f"no NVIDIA product is called {wanted!r}",
                  todo=f"did you mean {' or '.join(names)}?" if names else "write its capability (sm_89) or PCI id (10de:2684)")


def _index(catalog: Catalog) -> dict[str, list[str]]:
    index: dict[str, list[str]] = {}
    for gpu in catalog.gpus:
        names = index.setdefault(fold_gpu(gpu.name), [])
        if gpu.name not in names:
            names.append(gpu.name)
    return index


def find_system(catalog: Catalog, text: str) -> System:
    """The operating system of that id, alias or name. Raises Problem with the nearest known ones."""
    folded = text.strip().lower()
    found: System | None = catalog.row("systems", folded)
    if found is not None:
        return found
    bare = folded.replace(" ", "").replace("-", "").replace(".", "").replace("_", "")
    for system in catalog.systems:
        names = (system.id, system.name, *system.aliases)
        if any(name.lower().replace(" ", "").replace("-", "").replace(".", "").replace("_", "") == bare for name in names):
            return system
    near = nearest(folded, [name for system in catalog.systems for name in (system.id, *system.aliases)])
    raise Problem("os-unknown", f"no operating system is called {text!r}",
                  todo=f"did you mean {' or '.join(near)}?" if near else
                  f"known are {', '.join(system.id for system in catalog.systems)}; others: `linux` with `glibc`")
