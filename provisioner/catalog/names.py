"""What people call things: products and operating systems."""

from __future__ import annotations

from provisioner.errors import Problem, nearest
from provisioner.versions import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from provisioner.catalog.load import Catalog
    from provisioner.catalog.model import Gpu, System

#: Words that say nothing about which product it is.
_NOISE = frozenset(("nvidia", "geforce", "tesla", "quadro", "graphics", "gpu", "corporation", "generation", "with", "design", "edition",
                    "developer", "kit"))
#: Words of the machine around the GPU, or of the share of it that is in use.
_AROUND = frozenset(("hgx", "dgx", "nvl36", "nvl72", "shared"))
_OTHERS = frozenset(("amd", "radeon", "instinct", "ati", "intel", "arc", "iris", "apple", "tpu", "gaudi", "habana", "ascend", "qualcomm",
                     "adreno"))


def _words(text: str) -> list[str]:
    """The words that tell products apart, memory last: "A100 80G SXM4" -> a100, sxm4, 80gb."""
    lowered = text.lower()
    if "[" in lowered:  # lspci puts the product in brackets after the chip
        lowered = lowered[lowered.index("[") + 1:].partition("]")[0]
    for mark in ("(r)", "(tm)", "(c)"):
        lowered = lowered.replace(mark, " ")
    words = "".join(each if each.isalnum() else " " for each in lowered).split()
    if "mig" in words[1:]:
        words = words[:words.index("mig", 1)]
    kept, memory = [], []
    for word in words:
        if word in _NOISE:
            continue
        if word.endswith(("g", "gb")) and word.rstrip("bg").isdigit():
            memory.append(word.rstrip("bg") + "gb")
        elif len(word) == 5 and word[-1] == "s" and word[:4].isdigit():  # 4070S
            kept.append(word[:4])
            memory.insert(0, "super")
        else:
            kept.append("laptop" if word == "mobile" else word)
    return kept + memory if kept else words


def fold_gpu(text: str) -> str:
    """A product's name without case, spaces, hyphens and words that say nothing: "NVIDIA GeForce RTX 4090" -> "rtx4090"."""
    return "".join(_words(text))


def _foldings(text: str) -> Iterator[str]:
    """Ways to read what somebody wrote, the nearest first: as it is, without the memory, without the machine around it, without
    what marks a mobile card, with the family that was left out."""
    words = _words(text)
    plain = [word for word in words if not (word.endswith("gb") and word[:-2].isdigit())]
    bare = [word for word in plain if word not in _AROUND]
    still = "".join(bare).replace("maxq", "")
    found = ["".join(words), "".join(plain), "".join(word for word in words if word not in _AROUND), "".join(bare), still]
    if bare[:2] == ["rtx", "pro"] and "blackwell" not in bare:
        found.append("".join([*bare[:3], "blackwell", *bare[3:]]))
    found.append(still.replace("laptop", ""))
    yield from found
    if not still.startswith(("rtx", "gtx", "gt")):
        for family in ("rtx", "gtx"):
            yield from (family + each for each in found)
    yield still + "laptop"


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
    index = catalog.extra("gpu-names", _index, "2")
    for folded in (lowered.replace(" ", "").replace("-", ""), *_foldings(wanted)):
        alias = catalog.row("gpu_aliases", folded)
        names = (alias.name,) if alias is not None else index.get(folded, ())
        if names:
            found = [gpu for gpu in catalog.gpus if gpu.name in names]
            return sorted(found, key=lambda gpu: gpu.confidence != "measured")
    words = _words(wanted)
    if any(word in _OTHERS or word == "rx" or (word[:2] in ("mi", "rx") and word[2:].rstrip("abtx").isdigit()) for word in words):
        raise Problem("gpu-unknown", f"no NVIDIA product is called {wanted!r}",
                      todo="name a GPU of NVIDIA's: those of other makers run no CUDA, and this project provisions nothing else")
    near = nearest(fold_gpu(wanted), list(index)) if wanted else []
    named = [index[each][0] for each in near]
    raise Problem("gpu-unknown", f"no NVIDIA product is called {wanted!r}",
                  todo=f"did you mean {' or '.join(named)}?" if named else "write its capability (sm_89) or PCI id (10de:2684)")


def measured(rows: list[Gpu]) -> list[Gpu]:
    """The rows that some driver's README lists; all where none does. An id known from pci.ids alone says nothing on drivers."""
    return [row for row in rows if row.confidence == "measured"] or rows


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


def first_drivers(rows: list[Gpu]) -> tuple[str, tuple[str, ...]]:
    """Of rows that differ only in PCI ids: the earliest driver that lists any of them ("" when one has none), and of each branch."""
    firsts = [row.first_driver or "" for row in measured(rows)]
    branches: dict[str, str] = {}
    for row in rows:
        for version in row.first_in_branch:
            branch = version.split(".", 1)[0]
            if branch not in branches or number(version) < number(branches[branch]):
                branches[branch] = version
    return "" if "" in firsts else min(firsts, key=number), tuple(branches.values())
