"""The rows of the compatibility catalogue, one `NamedTuple` a table.

A row's fields are spelled as on disk (`compat_data/`, see its README). The last three are its provenance:
`source` (an id of `sources.yaml`, optionally followed by `: detail`), `date` (when the source was read, ISO) and
`confidence`: `measured` (read out of a binary, package metadata or a program's output), `stated` (said by the party that
makes the thing) or `derived` (inferred from neighbours or third-party copies).

Units and spellings: versions are strings in the vendor's spelling; capabilities are integers (`sm_89` is 89,
`sm_120` is 120); driver branches are strings ("580"); platforms are `linux_x86_64`, `linux_aarch64`, `win_amd64`,
`win_arm64`, `macos_x86_64`, `macos_arm64`; architectures of a target are `x86_64` or `aarch64`; an empty string means
"there is none" and `None` "nobody knows". An interval's end that is left open is the empty string.
"""

from __future__ import annotations

from provisioner.records import Record


class TorchRelease(Record):
    """A stable torch release. Key: version."""

    version: str
    released: str  # ISO date of the earliest upload
    requires_python: str  # the package's own Requires-Python
    cxx11_abi: bool | None  # _GLIBCXX_USE_CXX11_ABI of the default Linux x86-64 wheel
    source: str
    date: str
    confidence: str


class TorchBuild(Record):
    """One build that exists: torch x CUDA build x platform x channel. Key: those four."""

    torch: str
    build: str  # cu128, cpu; on conda-forge cuda129
    platform: str
    channel: str  # pip | conda-forge | conda-pytorch
    cuda: str  # CUDA of the wheel, X.Y; "" for cpu
    toolkit: str | None  # exact CUDA release built with, X.Y.Z; "" for cpu
    pythons: tuple[str, ...]  # ("3.9", ..., "3.13"); free-threaded ones are left out
    glibc: str  # lowest glibc of the target, "" where that is no question (Windows, macOS)
    label: str  # local version label of the wheel, "+cu128"; "" when it carries none
    index_url: str  # where pip finds it; "" for conda
    default: bool  # what the package index serves without an index URL
    file_pattern: str  # with {py}; "" when unknown
    source: str
    date: str
    confidence: str


class TorchArch(Record):
    """GPU code in a build. Key as TorchBuild."""

    torch: str
    build: str
    platform: str
    channel: str
    sm: tuple[int, ...]  # cubins
    ptx: tuple[int, ...]  # also embedded as PTX
    source: str
    date: str
    confidence: str


class TorchPin(Record):
    """Libraries of a build. Key as TorchBuild."""

    torch: str
    build: str
    platform: str
    channel: str
    libraries: str  # pinned | bundled | partly-pinned
    cudnn: str | None
    nccl: str | None  # "" where there is none (Windows)
    triton: str | None
    pins: tuple[tuple[str, str], ...]  # (requirement name, specifier) of every nvidia-*/cuda-* and triton requirement
    source: str
    date: str
    confidence: str


class Companion(Record):
    """A release of a package built against torch. Key: package, version."""

    package: str
    version: str
    released: str
    torch: str  # PEP 440 specifier of the torch it accepts; "" when it names none
    pair: str  # exact torch it was built for when the specifier is silent or wider; "" when unknown
    requires_python: str
    pythons: tuple[str, ...]  # wheels' Pythons; () = pure Python, abi3 or unknown
    platforms: tuple[str, ...]  # platforms with a ready wheel; () = source only
    glibc: tuple[tuple[str, str], ...]  # platform -> glibc its wheels' tag asks for, where above torch's own 2.17
    builds: tuple[str, ...]  # CUDA builds with a ready wheel; () = does not depend on it; ("*",) = each of torch's
    label: bool  # its wheels carry torch's local version label on the PyTorch index (torchvision 0.22.1+cu128)
    requires: tuple[tuple[str, str], ...]  # other companions it pins (vllm: torchvision ==0.28.0)
    yanked: bool
    source: str
    date: str
    confidence: str


class CompanionArch(Record):
    """GPUs that a companion's ready wheels serve. Key: package, first."""

    package: str
    first: str  # version interval, both ends inclusive, "" = open
    last: str
    min_sm: int
    max_sm: int  # 0 = open
    build: str  # "" = all builds
    source: str
    date: str
    confidence: str


class Toolkit(Record):
    """A CUDA toolkit release. Key: version (X.Y.Z; 10.x as X.Y.ZZZ)."""

    version: str
    label: str  # "12.8 Update 1"
    released: str
    branch: str  # driver branch it belongs to
    min_driver_linux: str | None  # NVIDIA's row for this exact release
    min_driver_windows: str | None
    bundled_linux: str | None  # driver inside the installer, "" = none bundled
    bundled_windows: str | None
    source: str
    date: str
    confidence: str


class CudaMajor(Record):
    """Minor-version compatibility: the lowest driver that runs every release of a CUDA major (from 11). Key: major.
    For CUDA 10 there is none: each minor has its own floor, given as major "10.0", "10.1", "10.2"."""

    major: str
    min_driver_linux: str
    min_driver_windows: str
    source: str
    date: str
    confidence: str


class ForwardCompat(Record):
    """A forward-compatibility package (cuda-compat-X-Y). Key: cuda."""

    cuda: str  # X.Y
    package: str
    branches: tuple[str, ...]  # base driver branches it lifts
    source: str
    date: str
    confidence: str


class Capability(Record):
    """A compute capability. Key: sm."""

    sm: int
    architecture: str  # row of `architectures`
    examples: str
    first_toolkit: str  # first and last toolkit (X.Y) that compiles for it; last "" = still does
    last_toolkit: str
    deprecated_from: str  # "" = not
    runs: tuple[int, ...]  # capabilities whose cubins run on it (the CUDA binary-compatibility rule, Tegra apart)
    integrated: bool  # Tegra/Jetson or other SoC that generic wheels may not serve
    source: str
    date: str
    confidence: str


class Architecture(Record):
    """A GPU generation and the drivers that serve it. Key: name."""

    name: str
    first_branch: str
    first_driver: str  # first point release where known, else ""
    last_branch: str  # "" = still supported
    open_modules: str  # unsupported | supported | required
    open_first_driver: str  # first driver whose open modules serve it, "" = none
    source: str
    date: str
    confidence: str


class Gpu(Record):
    """A product. Key: name, pci_id, subsystems (gpus.csv)."""

    name: str
    pci_id: str  # four lower-case hex digits of the device id, "" = none known
    subsystems: tuple[str, ...]  # vvvv:dddd; () = any
    chip: str
    architecture: str
    sm: int | None
    gpu_class: str  # geforce | workstation | datacenter | jetson | mobile | mining | unknown ...
    open_modules: str  # unsupported | supported | required | none (a SoC with its own driver)
    first_driver: str | None  # first release whose README lists it
    first_in_branch: tuple[str, ...]  # the same for each branch
    last_branch: str
    nvswitch: bool  # sold on NVSwitch baseboards (SXM HGX/DGX), where Fabric Manager is needed
    forward_compat: bool  # may use cuda-compat (data-centre and NGC-ready products)
    source: str
    date: str
    confidence: str


class GpuAlias(Record):
    """A way people write a product that normalising the name does not reach. Key: alias (lower case, no spaces)."""

    alias: str
    name: str
    source: str
    date: str
    confidence: str


class DriverBranch(Record):
    """A driver branch (Linux numbering). Key: branch."""

    branch: str
    kind: str  # LTSB | PB | NFB | legacy | beta
    cuda: str  # newest CUDA it serves without compatibility packages (what nvidia-smi prints)
    released: str
    end_of_life: str  # ISO (month or day); "" = no end stated
    latest: str
    flavours: tuple[str, ...]  # open, proprietary
    architectures: tuple[str, ...]
    windows_numbers: str  # "570-573"; "" when unknown
    last_kernel: str | None  # newest kernel series the last release is known to build on
    source: str
    date: str
    confidence: str


class DriverRelease(Record):
    """A point release. Key: version, platform."""

    version: str
    branch: str
    platform: str  # linux | windows
    released: str | None
    beta: bool
    source: str
    date: str
    confidence: str


class DriverOffer(Record):
    """Which source offers which branches on which system. Key: os, arch, origin, first."""

    os: str
    arch: str
    origin: str  # vendor | distro | runfile
    first: str  # first and last branch, inclusive; last "" = newest
    last: str
    except_branches: tuple[str, ...]
    flavours: tuple[str, ...]
    releases: tuple[str, ...]  # the exact releases where the source holds only some; () = those of the branch
    note: str
    source: str
    date: str
    confidence: str


class Component(Record):
    """A component's version in a toolkit release. Key: toolkit, component."""

    toolkit: str
    component: str
    version: str
    source: str
    date: str
    confidence: str


class HostCompiler(Record):
    """Compilers nvcc accepts (majors, inclusive). Key: toolkit (X.Y), compiler."""

    toolkit: str
    compiler: str  # gcc | clang | msvc
    first: str
    last: str
    source: str
    date: str
    confidence: str


class ToolkitOffer(Record):
    """Toolkits that the vendor's repository holds for a system. Key: os, arch, first."""

    os: str
    arch: str
    first: str  # X.Y, inclusive; last "" = newest
    last: str
    missing: tuple[str, ...]
    note: str
    source: str
    date: str
    confidence: str


class Cudnn(Record):
    """A cuDNN release and the CUDA major (8.x: minor where built so) it is for. Key: version, cuda."""

    version: str
    cuda: str  # "12" or "11.8"
    released: str | None
    min_driver_linux: str | None
    min_driver_windows: str | None
    min_sm: int | None
    max_sm: int | None
    platforms: tuple[str, ...]
    wheel: bool
    source: str
    date: str
    confidence: str


class Nccl(Record):
    """An NCCL release. Key: version."""

    version: str
    released: str | None
    cudas: tuple[str, ...]  # CUDA majors with a build (a wheel, or a package suffix seen)
    suffixes: tuple[str, ...]  # +cudaX.Y package suffixes seen
    sm: tuple[int, ...]  # default architecture list
    wheels: tuple[str, ...]  # wheel majors
    source: str
    date: str
    confidence: str


class System(Record):
    """An operating system. Key: id."""

    id: str  # ubuntu2204: the vendor repository folder's name where there is one
    name: str
    family: str  # debian | rhel | fedora | amazon | suse | azure | arch | windows | macos | linux
    version: str
    aliases: tuple[str, ...]  # other names people use: rocky9, ubuntu22.04, jammy
    arches: tuple[str, ...]
    glibc: str
    kernel: str
    gcc: str  # default compiler, full version
    python: str  # default python3, X.Y
    pythons: tuple[str, ...]  # packaged interpreters, X.Y
    package_manager: str  # apt | dnf | tdnf | zypper | pacman | none
    initramfs: str  # update-initramfs | dracut | mkinitcpio | none
    secure_boot: str  # how a module gets signed: mok | distro-signed | none
    repository_x86_64: str  # repository folder URL, "" = none
    repository_aarch64: str
    end_of_life: str
    externally_managed: bool  # its Python refuses pip outside a virtual environment
    source: str
    date: str
    confidence: str


class RepositoryKey(Record):
    """A signing key of a repository. Key: os, origin."""

    os: str
    origin: str  # vendor | container-toolkit
    file: str
    fingerprint: str | None  # 40 hex digits
    keyring_url: str  # package or file that carries it
    keyring_sha256: str | None  # for x86_64
    keyring_sha256_aarch64: str | None
    source: str
    date: str
    confidence: str


class PackageName(Record):
    """How a thing is called by a package manager. Key: family, os, origin, thing, first.

    `pattern` may use {branch} {version} {cuda_dash} {cuda} {cuda_major} {kernel} {py}; several packages are separated by spaces."""

    family: str
    os: str  # "" = every system of the family
    origin: str  # vendor | distro | runfile
    thing: str  # driver-open | driver-proprietary | driver-pin | fabric-manager | imex | toolkit | cudnn | nccl | headers | python ...
    first: str  # interval of the driver branch, CUDA, or cuDNN major that names depend on; "" = open
    last: str
    pattern: str
    note: str
    source: str
    date: str
    confidence: str


class JetPack(Record):
    """A JetPack / L4T release. Key: l4t."""

    l4t: str
    jetpack: str
    os: str
    python: str
    cuda: str
    driver: str
    sm: tuple[int, ...]
    torch: tuple[str, ...]  # torch releases with a wheel for it
    index_url: str
    source: str
    date: str
    confidence: str


class Rule(Record):
    """A single number or statement that belongs to no other table (WSL's lowest Windows build, the last release of a channel).
    Key: id."""

    id: str
    value: str
    text: str
    source: str
    date: str
    confidence: str


class Source(Record):
    """Where facts come from. Key: id. Its own provenance is itself."""

    id: str
    title: str
    where: str  # address, or what to look up
    date: str  # when it was read


#: table name -> row type, key fields, file below compat_data/
TABLES: dict[str, tuple[type, tuple[str, ...], str]] = {
    "sources": (Source, ("id",), "sources.yaml"),
    "torch_releases": (TorchRelease, ("version",), "torch/releases.yaml"),
    "torch_builds": (TorchBuild, ("torch", "build", "platform", "channel"), "torch/builds.yaml"),
    "torch_archs": (TorchArch, ("torch", "build", "platform", "channel"), "torch/archs.yaml"),
    "torch_pins": (TorchPin, ("torch", "build", "platform", "channel"), "torch/pins.yaml"),
    "companions": (Companion, ("package", "version"), "torch/companions.yaml"),
    "companion_archs": (CompanionArch, ("package", "first", "build"), "torch/companion_archs.yaml"),
    "toolkits": (Toolkit, ("version",), "nvidia/toolkits.yaml"),
    "cuda_majors": (CudaMajor, ("major",), "nvidia/cuda_majors.yaml"),
    "forward_compat": (ForwardCompat, ("cuda",), "nvidia/forward_compat.yaml"),
    "capabilities": (Capability, ("sm",), "nvidia/capabilities.yaml"),
    "architectures": (Architecture, ("name",), "nvidia/architectures.yaml"),
    "gpus": (Gpu, ("name", "pci_id", "subsystems"), "nvidia/gpus.csv"),
    "gpu_aliases": (GpuAlias, ("alias",), "nvidia/gpu_aliases.yaml"),
    "driver_branches": (DriverBranch, ("branch",), "nvidia/driver_branches.yaml"),
    "driver_releases": (DriverRelease, ("version", "platform"), "nvidia/driver_releases.yaml"),
    "components": (Component, ("toolkit", "component"), "nvidia/components.yaml"),
    "host_compilers": (HostCompiler, ("toolkit", "compiler"), "nvidia/host_compilers.yaml"),
    "cudnn": (Cudnn, ("version", "cuda"), "nvidia/cudnn.yaml"),
    "nccl": (Nccl, ("version",), "nvidia/nccl.yaml"),
    "systems": (System, ("id",), "os/systems.yaml"),
    "keys": (RepositoryKey, ("os", "origin"), "os/keys.yaml"),
    "driver_offers": (DriverOffer, ("os", "arch", "origin", "first"), "os/driver_offers.yaml"),
    "toolkit_offers": (ToolkitOffer, ("os", "arch", "first"), "os/toolkit_offers.yaml"),
    "package_names": (PackageName, ("family", "os", "origin", "thing", "first"), "os/package_names.yaml"),
    "jetpacks": (JetPack, ("l4t",), "os/jetpacks.yaml"),
    "rules": (Rule, ("id",), "rules.yaml"),
}
