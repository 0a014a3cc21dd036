"""A locked plan as ordered steps: the form between the plan and every format.

Only the standard library is needed here, because `provision plan` prints the steps' titles. What a step *does* is in the
templates of a format; here is which steps there are, in which order, and with which values.
"""

from __future__ import annotations

from provisioner.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any



class Step(Record):
    """One step. id: what the templates are called. title: (English, Chinese). values: what the template gets.

    root: needs root. undo: whether it can be undone (a reboot cannot)."""

    id: str
    title: tuple[str, str]
    values: dict[str, Any]
    root: bool = True
    undo: bool = True


def build(lock: dict[str, Any]) -> list[Step]:
    """The steps of a lock, in order."""
    made = _Builder(lock)
    return made.steps


def titles(lock: dict[str, Any], lang: str) -> list[str]:
    """What `provision plan` prints."""
    return [step.title[1 if lang == "zh" else 0] for step in build(lock)]


def _names(packages: list[dict[str, Any]] | None) -> str:
    return ", ".join(str(each["name"]) for each in packages or [])


def _versioned(packages: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    return [{"name": each["name"], "version": each.get("version") or ""} for each in packages or []]


class _Builder:
    """Walks the artefacts once."""

    def __init__(self, lock: dict[str, Any]) -> None:
        self.artefacts: dict[str, Any] = lock["artefacts"]
        self.choices: dict[str, Any] = lock["choices"]
        self.system: dict[str, Any] = self.artefacts.get("system") or {}
        self.steps: list[Step] = []
        driver = self.artefacts.get("driver") or {}
        self.installs_driver = driver.get("action") == "install"
        self.linux = self.system.get("family") not in ("windows", "macos")
        self._system()
        #: the vendor's repository is where the driver comes from; else it must never become that
        self.vendor_driver = self.installs_driver and (driver.get("origin") or "vendor") == "vendor"
        if self.installs_driver:
            self._driver(driver)
        self._toolkit()
        self._library("cudnn", "cuDNN")
        self._library("nccl", "NCCL")
        self._compat()
        if self.linux and self.choices.get("cuda_build") != "cpu":
            self._environment_variables()
        self._python()
        if self.installs_driver:
            self._add("reboot", ("Reboot, so that the new kernel module is the one loaded", "重启，使新的内核模块得以加载"),
                      undo=False, wanted=_loaded(driver))
        self._add("verify", ("Verify: a kernel runs and its numbers are right" if self.choices.get("cuda_build") != "cpu"
                             else "Verify: torch computes, and its numbers are right",
                             "检验：内核可以运行且结果正确" if self.choices.get("cuda_build") != "cpu" else "检验：torch 可以计算且结果正确"),
                  root=False, undo=False, torch=self.choices.get("torch") or "", cuda=self.choices.get("cuda") or "",
                  gpus=list(self.choices.get("gpus") or []), kind=self.artefacts.get("kind") or "host")

    def _add(self, identifier: str, title: tuple[str, str], *, root: bool = True, undo: bool = True, **values: Any) -> None:
        self.steps.append(Step(identifier, title, values, root, undo))

    def _system(self) -> None:
        name = self.system.get("name") or self.choices.get("os")
        self._add("check-system", (f"Check that this is {name} on {self.choices.get('arch')}", f"确认系统为 {name}（{self.choices.get('arch')}）"),
                  root=False, undo=False, system=self.choices.get("os") or "", family=self.system.get("family") or "",
                  version=self.system.get("version") or "", arch=self.choices.get("arch") or "", name=name or "")
        driver = self.artefacts.get("driver") or {}
        components = list(self.artefacts.get("components") or [])
        if components:
            shown = ", ".join(components)
            self._add("enable-components", (f"Turn on {shown} of the distribution's archive", f"启用发行版软件源的 {shown}"), components=components)
        extra = self.artefacts.get("extra_repository")
        if extra and self.installs_driver:
            self._add("add-extra-repository", (f"Add the repository that DKMS comes from ({', '.join(extra['packages'])})",
                                               f"添加提供 DKMS 的软件源（{', '.join(extra['packages'])}）"),
                      packages=list(extra["packages"]), components=list(extra.get("components") or []))
        wanted: list[str] = list((self.artefacts.get("repository") or {}).get("tools") or [])
        wanted += driver.get("prerequisites") or [] if self.installs_driver else []
        wanted += [str(each["name"]) for each in (self.artefacts.get("python") or {}).get("packages") or []]
        if self.installs_driver and driver.get("headers"):
            wanted += _words(str(driver["headers"]))
        wanted = list(dict.fromkeys(wanted))
        if self.linux and wanted:
            self._add("install-prerequisites", ("Install what the steps below need: " + _short([_plain(each) for each in wanted]),
                                                "安装后续步骤所需的软件包：" + _short([_plain(each) for each in wanted])),
                      packages=wanted)

    def _repository(self) -> None:
        repository = self.artefacts.get("repository")
        if not repository or any(step.id == "add-repository" for step in self.steps):
            return
        url = repository["url"]
        self._add("add-repository", (f"Add NVIDIA's repository {url}, its key checked by fingerprint", f"添加 NVIDIA 软件源 {url}，并按指纹核对密钥"),
                  **repository, with_driver=self.vendor_driver)
        if not self.vendor_driver and self.system.get("package_manager") != "dnf":  # there a line of the repository's file does it
            self._add("keep-driver-out", ("Keep that repository from replacing the driver", "防止该软件源替换现有驱动"),
                      version=(self.artefacts.get("driver") or {}).get("version") or "")

    def _driver(self, driver: dict[str, Any]) -> None:
        version, origin = driver.get("version") or "", driver.get("origin") or "vendor"
        if not self.linux:
            self._add("install-driver-windows", (f"Install driver {version} by NVIDIA's installer for Windows",
                                                 f"用 NVIDIA 的 Windows 安装程序安装驱动 {version}"), version=version)
            return
        self._add("blacklist-nouveau", ("Keep nouveau from taking the GPU, and rebuild the initramfs", "禁用 nouveau 并重建 initramfs"),
                  initramfs=self.system.get("initramfs") or "update-initramfs")
        if origin == "vendor":
            self._repository()
        packages = _versioned(driver.get("packages"))
        if packages:
            exact = all(each["version"] for each in packages)
            if not exact:  # the distribution decides on the release
                version = str(driver.get("branch") or version.split(".")[0])
            elif self.system.get("package_manager") == "apt":  # others take the exact version by name; the hold keeps it there
                self._add("pin-driver", (f"Pin the driver to {version}", f"将驱动固定在 {version}"), version=version)
            if driver.get("stream"):
                stream = driver["stream"]
                self._add("enable-stream", (f"Enable the module stream {stream}", f"启用模块流 {stream}"), stream=stream)
            flavour = driver.get("flavour")
            english = f"Install driver {version} with the {flavour} kernel modules ({_names(packages)})"
            self._add("install-driver", (english, f"安装驱动 {version}（{'开源' if flavour == 'open' else '专有'}内核模块：{_names(packages)}）"),
                      packages=packages, version=version, flavour=flavour or "")
        else:
            self._add("install-driver-runfile", (f"Install driver {version} from NVIDIA's run file", f"用 NVIDIA run 文件安装驱动 {version}"),
                      version=version, flavour=driver.get("flavour") or "", arch=self.choices.get("arch") or "x86_64")
        fabric = self.artefacts.get("fabric")
        if fabric:
            if origin != "distro":
                self._repository()
            parts = _versioned(fabric.get("packages"))
            self._add("install-fabric-manager", (f"Install and start Fabric Manager of exactly {version}", f"安装并启动版本恰为 {version} 的 Fabric Manager"),
                      packages=parts, version=version)
            packages = [*packages, *(each for each in parts if each["version"] or origin == "distro")]
        if driver.get("packages") and self.system.get("package_manager") != "pacman":  # a rolling system cannot hold back one part
            self._add("hold-driver", ("Hold the driver's packages, so that no upgrade replaces them under a loaded module",
                                      "锁定驱动软件包，避免升级替换正在使用的模块"), packages=packages, version=version)

    def _toolkit(self) -> None:
        toolkit = self.artefacts.get("toolkit")
        if not toolkit:
            return
        version, home = toolkit.get("version") or "", toolkit.get("home") or ""
        if toolkit.get("origin") == "runfile" or not toolkit.get("packages"):
            if toolkit.get("origin") == "conda":
                return  # comes with the environment
            if not self.linux:
                self._add("install-toolkit-windows", (f"Install CUDA toolkit {version} by NVIDIA's installer for Windows, without its driver",
                                                      f"用 NVIDIA 的 Windows 安装程序安装 CUDA 工具包 {version}（不含驱动）"), version=version, home=home)
                return
            self._add("install-toolkit-runfile", (f"Install CUDA toolkit {version} from NVIDIA's run file, without its driver",
                                                  f"用 NVIDIA run 文件安装 CUDA 工具包 {version}（不含驱动）"),
                      version=version, home=home, arch=self.choices.get("arch") or "x86_64", bundled=toolkit.get("bundled") or "")
            return
        self._repository()
        packages = _versioned(toolkit.get("packages"))
        compiler = str(toolkit.get("compiler") or "")
        if compiler and self.system.get("package_manager") == "apt":  # the system's own is newer than nvcc takes
            packages += [{"name": compiler, "version": ""}, {"name": compiler.replace("gcc", "g++"), "version": ""}]
        self._add("install-toolkit", (f"Install CUDA toolkit {version} ({_names(packages)}), without a driver",
                                      f"安装 CUDA 工具包 {version}（{_names(packages)}），不含驱动"), packages=packages, version=version, home=home)

    def _library(self, key: str, name: str) -> None:
        library = self.artefacts.get(key)
        if library and library.get("packages"):
            self._repository()
            packages = _versioned(library["packages"])
            self._add(f"install-{key}", (f"Install {name} {library.get('version')} ({_names(packages)})",
                                         f"安装 {name} {library.get('version')}（{_names(packages)}）"), packages=packages)

    def _compat(self) -> None:
        compat = self.artefacts.get("compat")
        if compat:
            self._repository()
            self._add("install-compat", (f"Install the forward-compatibility package {compat['package']}", f"安装前向兼容包 {compat['package']}"),
                      packages=[{"name": compat["package"], "version": ""}], cuda=compat.get("cuda") or "")

    def _environment_variables(self) -> None:
        toolkit = self.artefacts.get("toolkit") or {}
        compat = self.artefacts.get("compat") or {}
        self._add("write-environment", ("Write environment variables to /etc/profile.d", "把环境变量写入 /etc/profile.d"),
                  home=toolkit.get("home") or "", compat=compat.get("cuda") or "", compiler=toolkit.get("compiler") or "")

    def _python(self) -> None:
        python = self.artefacts.get("python") or {}
        version, environment = python.get("version") or self.choices.get("python") or "", self.artefacts.get("environment") or "/opt/torch"
        installer = self.artefacts.get("installer") or "pip"
        conda = self.artefacts.get("conda") or {}
        self._add("create-python-environment", (f"Create a Python {version} environment at {environment} ({installer})",
                                                f"在 {environment} 创建 Python {version} 环境（{installer}）"),
                  root=False, version=version, environment=environment, installer=installer, source=python.get("source") or "system",
                  channels=list(conda.get("channels") or []), bootstrap=python.get("bootstrap") or "")
        requirements = list(self.artefacts.get("requirements") or [])
        plain = list(self.artefacts.get("plain_requirements") or [])  # not on PyTorch's index
        specs = list(conda.get("specs") or [])
        wanted = specs if installer in ("conda", "pixi") and specs else requirements + plain
        self._add("install-wheels", ("Install " + _short(wanted), "安装 " + _short(wanted)), root=False, environment=environment,
                  installer=installer, requirements=requirements, plain=plain, specs=specs, channels=list(conda.get("channels") or []),
                  index_url=self.artefacts.get("index_url") or "", extra_index_urls=list(self.artefacts.get("extra_index_urls") or []),
                  torch=self.choices.get("torch") or "")


def _loaded(driver: dict[str, Any]) -> str:
    """What the loaded module's version has to begin with: the whole version, or the branch where the distribution picks the release."""
    packages = driver.get("packages") or []
    return str(driver.get("version") or "") if all(each.get("version") for each in packages) else f"{driver.get('branch')}."


def _words(packages: str) -> list[str]:
    """Several packages in one text; the space in `$(uname -r)` is no separator."""
    kernel = "$(uname -r)"
    return [each.replace("\0", kernel) for each in packages.replace(kernel, "\0").split()]


def _plain(package: str) -> str:
    """A package for people: the running kernel's headers by what they are."""
    return package.replace("-$(uname -r)", "")


def _short(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" … ({len(names)})" if len(names) > 6 else "")
