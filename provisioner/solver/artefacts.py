"""From choices to what a machine gets: repository, packages with versions, requirement lines, what to expect afterwards.

Names of packages come from the catalogue's table `package_names`, by family, system, origin and the number they depend on.
"""

from __future__ import annotations

from provisioner.solver import tables as t
from provisioner.solver.caveats import fabric
from provisioner.solver.explain import is_ready
from provisioner.versions import number as version_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from provisioner.solver.plan import Plan
    from provisioner.solver.problem import Question

#: Companions that PyTorch's own index carries beside torch; everything else comes from the package index afterwards.
_BESIDE_TORCH = ("torchvision", "torchaudio", "torchtext", "torchao", "triton", "xformers")


def artefacts(plan: Plan) -> dict[str, Any]:
    """The `artefacts` of a lock. Shapes:

    system (row of `systems`), kind, repository {url, list_name, key_fingerprint, keyring_url, keyring_sha256, origin, tools} or null,
    components (of the distribution's own archive that have to be on), extra_repository {packages, components} or null,
    driver {action install|keep, origin, version, branch, flavour, packages, pin, stream, prerequisites, headers} or null, fabric
    {packages} or null, toolkit {version, packages, origin vendor|runfile|conda, home, compiler} or null, cudnn / nccl {version, packages}
    or null, compat {package, cuda} or null, python {version, packages, source system|uv|conda, bootstrap}, environment, installer,
    index_url, extra_index_urls, requirements (from index_url), plain_requirements (from the package index, after
    those), conda {channels, specs}
    or null, expect {torch, cuda, cudnn, sm, arch_list}. A package is {name, version}, version "" where any will do."""
    return _Artefacts(plan).made()


class _Artefacts:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.q, self.answer = plan, plan.question, plan.answer
        self.here = plan.question.machine
        self.system = self.here.system

    def made(self) -> dict[str, Any]:
        """All of it."""
        q, answer, wheel = self.q, self.answer, self.answer.wheel
        conda = q.spec.installer in ("conda", "pixi")
        driver, toolkit = self._driver(), self._toolkit()
        libraries = {name: self._library(name) for name in ("cudnn", "nccl")}
        fabric_manager = self._fabric()
        vendor = [driver and driver["origin"] == "vendor" and driver["action"] == "install", toolkit and toolkit["origin"] == "vendor",
                  libraries["cudnn"], libraries["nccl"], answer.compat, fabric_manager and answer.origin in ("vendor", "runfile")]
        requirements, plain = self._requirements()
        repository = self._repository() if any(vendor) else None
        own = bool(driver and driver["action"] == "install" and driver["origin"] == "distro")
        return {
            "system": self.system._asdict(), "kind": self.here.kind, "arch": self.here.arch,
            "repository": repository, "components": self._names("distro" if own else "vendor", "components") if own or repository else [],
            "extra_repository": self._extra_repository() if driver and driver["action"] == "install" else None,
            "driver": driver, "fabric": fabric_manager, "toolkit": toolkit, **libraries,
            "compat": {"package": answer.compat, "cuda": wheel[t.CUDA]} if answer.compat else None,
            "python": self._python(), "environment": q.spec.environment, "installer": q.spec.installer,
            "index_url": None if conda else wheel[t.INDEX_URL] or None, "extra_index_urls": [],
            "requirements": [] if conda else requirements, "plain_requirements": [] if conda else plain,
            "conda": self._conda(plain) if conda else None,
            "expect": {
                "torch": answer.torch, "cuda": wheel[t.CUDA] or None, "cudnn": wheel[t.CUDNN] or None,
                "sm": sorted({card.sm for card in q.cards or () if card.sm is not None}),
                "arch_list": [f"sm_{each}" for each in wheel[t.SM] or ()] + [f"compute_{each}" for each in wheel[t.PTX] or ()]},
        }

    # -- names of packages

    def _names(self, origin: str, thing: str, number: str = "", version: str = "", python: str = "") -> list[str]:
        """Packages of a thing on this system, their patterns filled in; [] when the catalogue has no row."""
        return [self._fill(each, number, version, python) for each in _pattern(self.q, origin, thing, number).split()]

    def _fill(self, pattern: str, number: str, version: str, python: str) -> str:
        toolkit = self.answer.toolkit or self.answer.wheel[t.CUDA] or ""
        cuda = t.minor(toolkit)
        values = {"branch": self.answer.branch, "version": version, "cuda": cuda, "cuda_dash": cuda.replace(".", "-"),
                  "cuda_major": cuda.split(".")[0], "py": python or self.answer.python, "kernel": "$(uname -r)",
                  "major": number.split(".")[0] if number else ""}
        for name, value in values.items():
            pattern = pattern.replace("{" + name + "}", value)
        return pattern

    def _packages(self, origin: str, thing: str, number: str = "", version: str = "") -> list[dict[str, str]]:
        return [{"name": name, "version": version} for name in self._names(origin, thing, number, version)]

    # -- parts

    def _repository(self) -> dict[str, Any] | None:
        os = "wsl-ubuntu" if self.here.kind == "wsl" else self.system.id
        system = self.q.catalog.row("systems", os) or self.system
        url = system.repository_x86_64 if self.here.arch == "x86_64" else system.repository_aarch64
        if not url:
            return None
        key = self.q.catalog.row("keys", os, "vendor") or self.q.catalog.row("keys", self.system.id, "vendor")
        sha = (key.keyring_sha256 if self.here.arch == "x86_64" else key.keyring_sha256_aarch64) if key else None
        # the catalogue names the keyring of the x86-64 folder; each folder has a file of that name
        keyring = f"{url}/{key.keyring_url.rsplit('/', 1)[-1]}" if key else None
        return {"url": url, "list_name": f"cuda-{os}-{self.here.arch}", "key_fingerprint": key.fingerprint if key else None,
                "keyring_url": keyring, "keyring_sha256": sha, "origin": "vendor", "tools": self._names("vendor", "repository-tools")}

    def _extra_repository(self) -> dict[str, Any] | None:
        """The repository that DKMS comes from where the distribution itself has none (EPEL)."""
        packages = self._names("distro", "extra-repository")
        return {"packages": packages, "components": self._names("distro", "extra-components")} if packages else None

    def _driver(self) -> dict[str, Any] | None:
        answer = self.answer
        choices = self.plan.choices
        if not choices["driver"]:
            return None
        told: dict[str, Any] = {"action": "install", "origin": choices["driver_source"], "version": answer.driver, "branch": answer.branch,
                                "flavour": choices["driver_flavour"], "packages": [], "pin": None, "stream": "", "prerequisites": [],
                                "headers": ""}
        if choices["driver_source"] == "preinstalled":
            return told | {"action": "keep"}
        if self.here.drivers == "windows":
            return told
        version = answer.driver if answer.origin != "distro" else ""
        told["packages"] = self._packages(answer.origin, f"driver-{answer.flavour}", answer.branch, version)
        pin = self._names(answer.origin, "driver-pin", answer.branch, answer.driver)
        if pin:
            told["pin"] = {"name": pin[0], "version": answer.driver}
        told["stream"] = " ".join(self._names(answer.origin, f"stream-{answer.flavour}", answer.branch))
        origin = answer.origin
        told["prerequisites"] = self._names(origin, "prerequisites", answer.branch) \
            or self._names("vendor", "prerequisites", answer.branch) or self._names("distro", "prerequisites", answer.branch)
        headers = self._names(origin, "headers", answer.branch) or self._names("vendor", "headers", answer.branch) \
            or self._names("distro", "headers", answer.branch)
        told["headers"] = " ".join(headers)
        return told

    def _fabric(self) -> dict[str, Any] | None:
        answer = self.answer
        if fabric(self.plan) != "yes" or (answer.origin == "preinstalled" and not self.here.installs_driver):
            return None
        origin = answer.origin if answer.origin in ("vendor", "distro") else "vendor"
        # the distribution's archive holds one release of both
        packages = self._packages(origin, "fabric-manager", answer.branch, answer.driver if origin == "vendor" else "")
        if any(card.nvswitch and card.architecture.startswith("Blackwell") for card in self.q.cards or ()):
            packages += self._packages(origin, "nvlsm", answer.branch)
        return {"packages": packages}

    def _toolkit(self) -> dict[str, Any] | None:
        answer = self.answer
        if not answer.toolkit:
            return None
        cuda = t.minor(answer.toolkit)
        if self.q.spec.installer in ("conda", "pixi"):
            return {"version": answer.toolkit, "packages": [], "origin": "conda", "home": self.q.spec.environment, "compiler": ""}
        last = self.q.tables["toolkits"]["gcc_last"].get(cuda, "") if self.plan.world[self.q.compiler] else ""
        if self.system.family == "windows":
            home = f"C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v{cuda}"
            row = self.q.catalog.row("toolkits", answer.toolkit)  # the file's name carries the bundled driver
            return {"version": answer.toolkit, "packages": [], "origin": "runfile", "home": home, "compiler": "",
                    "bundled": (row and row.bundled_linux) or ""}
        packages = self._packages("vendor", "toolkit", cuda)
        return {"version": answer.toolkit, "packages": packages, "origin": "vendor" if packages else "runfile",
                "home": f"/usr/local/cuda-{cuda}", "compiler": f"gcc-{last}" if last else ""}

    def _library(self, name: str) -> dict[str, Any] | None:
        q = self.q
        if not self.plan.world[q.cudnn if name == "cudnn" else q.nccl]:
            return None
        version = str(self.answer.library(name))
        number = version if name == "cudnn" else ""
        cuda = built_for(self.plan, name)
        # rpm's release of cuDNN is 1.cuda12.2, of NCCL 1+cuda12.8; deb packages write both with a plus
        joint = "." if name == "cudnn" and self.system.package_manager != "apt" else "+"
        return {"version": version, "packages": self._packages("vendor", name, number, f"{version}-1{joint}cuda{cuda}" if cuda else version)}

    def _python(self) -> dict[str, Any]:
        python = self.answer.python
        if self.q.spec.installer in ("conda", "pixi"):
            return {"version": python, "packages": [], "source": "conda", "bootstrap": ""}
        if python == self.system.python or python in self.system.pythons:
            return {"version": python, "packages": self._own_python(python), "source": "system", "bootstrap": python}
        # uv brings the interpreter; uv itself is put there by a Python of the system that it still runs on
        row = self.q.catalog.row("rules", "uv-min-python")
        able = [each for each in (self.system.python, *reversed(self.system.pythons)) if each and row
                and version_key(each) >= version_key(row.value)]
        bootstrap = able[0] if able else ""
        return {"version": python, "packages": self._own_python(bootstrap) if able else [], "source": "uv", "bootstrap": bootstrap}

    def _own_python(self, python: str) -> list[dict[str, str]]:
        """The packages of an interpreter that the system packages."""
        own = self._names("distro", "python" if python == self.system.python else "python-other", python=python) \
            or self._names("distro", "python", python=python)
        return [{"name": name, "version": ""} for name in own]

    # -- Python packages

    def _requirements(self) -> tuple[list[str], list[str]]:
        """Requirement lines for torch's index, and those for the package index."""
        q, answer = self.q, self.answer
        torch, plain = [f"torch=={answer.torch}"], []
        for name, wish in q.spec.packages:
            package = t.canonical(name)
            if package == "torch":
                continue
            if package not in q.packages:
                plain.append(name if wish in ("*", "") else f"{name}{wish}" if wish[0] in "<>=!~" else f"{name}=={wish}")
                continue
            row = answer.release(package)
            if row[t.P_FILE] and is_ready(answer, package):
                plain.append(f"{name} @ {self._release_page(row)}")
            elif package in _BESIDE_TORCH and answer.wheel[t.CHANNEL] == "pip":
                torch.append(f"{name}=={answer.package_version(package)}")
            else:
                plain.append(f"{name}=={row[t.P_VERSION]}")
        return torch, plain

    def _release_page(self, row: tuple[Any, ...]) -> str:
        """Address of flash-attn's ready wheel for these choices."""
        catalog, wheel = self.q.catalog, self.answer.wheel
        rule = catalog.row("rules", "flash-attn-wheel-name")
        release = catalog.row("torch_releases", wheel[t.TORCH])
        name = str(rule.value) if rule else ""
        for field, value in (("version", row[t.P_VERSION]), ("cuda_major", wheel[t.CUDA].split(".", maxsplit=1)[0]),
                             ("torch_minor", t.minor(wheel[t.TORCH])), ("py", self.answer.python.replace(".", ""))):
            name = name.replace("{" + field + "}", value)
        name = name.replace("{TRUE|FALSE}", "TRUE" if release and release.cxx11_abi else "FALSE")
        return f"https://github.com/Dao-AILab/flash-attention/releases/download/v{row[t.P_VERSION]}/{name.replace('+', '%2B')}"

    def _conda(self, plain: list[str]) -> dict[str, Any]:
        q, answer, wheel = self.q, self.answer, self.answer.wheel
        specs = [f"python={answer.python}"]
        if wheel[t.CUDA]:
            specs += [f"pytorch={wheel[t.TORCH]}={wheel[t.BUILD]}*", f"cuda-version={wheel[t.CUDA]}"]
        else:
            specs.append(f"pytorch={wheel[t.TORCH]}=cpu*")
        if answer.toolkit:
            specs += [f"cuda-toolkit={t.minor(answer.toolkit)}", "cxx-compiler"]
        specs += [f"{package}={answer.release(package)[t.P_VERSION]}" for package in q.packages]
        known = {t.canonical(name) for name in q.packages}
        specs += [line.replace("==", "=") for line in plain if t.canonical(line.split("=")[0].split("<")[0].split(">")[0]) not in known]
        return {"channels": ["conda-forge"], "specs": specs}


def _pattern(question: Question, origin: str, thing: str, number: str = "") -> str:
    """The catalogue's pattern for a thing on this system; "" when it has none."""
    system = question.machine.system
    rows = [row for row in question.catalog.package_names if row.thing == thing and row.origin == origin
            and row.family == system.family and row.os in ("", system.id) and (not number or _between(number, row.first, row.last))]
    if not rows:
        return ""
    found: str = max(rows, key=lambda each: (each.os == system.id, bool(each.first or each.last))).pattern
    return found


def built_for(plan: Plan, name: str) -> str:
    """Which CUDA the packages of the system's cuDNN or NCCL are to be built for; there are builds for several, and unnamed the newest is taken.

    "12.8" where the catalogue knows the build: this CUDA's, else the nearest lower one of its major, else the nearest. "12." for any of that
    major where it knows none. "" where the package's name says the major."""
    question, version = plan.question, str(plan.answer.library(name))
    if "{cuda" in _pattern(question, "vendor", name, version if name == "cudnn" else ""):
        return ""
    cuda = t.minor(plan.answer.toolkit or plan.answer.wheel[t.CUDA] or "")
    major = cuda.split(".", maxsplit=1)[0]
    if name == "cudnn":
        known = [row.cuda for row in question.catalog.cudnn if row.version == version]
    else:
        row = question.catalog.row("nccl", version)
        known = list(row.suffixes) if row else []
    built = sorted((each for each in known if "." in each and each.split(".")[0] == major), key=version_key)
    lower = [each for each in built if version_key(each) <= version_key(cuda)]
    return lower[-1] if lower else built[0] if built else f"{major}."


def _between(number: str, first: str, last: str) -> bool:
    """Whether a dotted number lies in an interval both of whose ends belong to it; a shorter end covers its whole series."""
    one = version_key(number)
    if first and one < version_key(first):
        return False
    if not last:
        return True
    end = version_key(last)
    return one[:len(end)] <= end
