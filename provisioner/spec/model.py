"""The spec's format, version 1, as pydantic models: the JSON schema comes from here, and every error report.

Valid specs never get here (`quick.py` reads them without pydantic); a test holds the two to the same language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from provisioner.spec import values

if TYPE_CHECKING:
    from typing_extensions import LiteralString


def _text(value: Any) -> Any:
    """Numbers in the JSON form of a spec are taken as they are written; true and false are not texts."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return value


def _checked(name: LiteralString, test: Any) -> AfterValidator:
    def check(value: str) -> str:
        if not value:
            raise PydanticCustomError("empty-value", "is empty")
        if not test(value):
            raise PydanticCustomError(name, "is not well formed")
        return value
    return AfterValidator(check)


def _short(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("empty-value", "is empty")
    if len(value) > values.TEXT_LIMIT:
        raise PydanticCustomError("long", "is too long")
    if any(ord(each) < 32 for each in value):
        raise PydanticCustomError("control", "has a control character")
    return value


_VERSION_SCHEMA = WithJsonSchema({"type": ["string", "number"]})
Text = Annotated[str, AfterValidator(_short)]
Name = Annotated[str, AfterValidator(lambda value: value if value == "" else _short(value))]
RangeText = Annotated[str, BeforeValidator(_text), _checked("range", values.is_range), _VERSION_SCHEMA]
TorchText = Annotated[str, BeforeValidator(_text), _checked("range", values.is_torch), _VERSION_SCHEMA]
CudaText = Annotated[str, BeforeValidator(_text), _checked("cuda", values.is_cuda), _VERSION_SCHEMA]
ToolkitText = Annotated[str, BeforeValidator(_text), _checked("range", values.is_toolkit), _VERSION_SCHEMA]
BundledText = Annotated[str, BeforeValidator(_text), _checked("range", values.is_bundled), _VERSION_SCHEMA]
VersionText = Annotated[str, BeforeValidator(_text), _checked("dotted", values.is_version), _VERSION_SCHEMA]
GpuText = Annotated[str, BeforeValidator(_text), AfterValidator(_short), _VERSION_SCHEMA]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TargetModel(_Strict):
    """The machine."""

    os: Text = Field(description="Operating system: a vendor repository folder's name (ubuntu2204, debian12, rhel9 …), windows, macos, "
                                 "arch, or linux with glibc.")
    arch: Annotated[Literal["x86_64", "aarch64"],
                    BeforeValidator(lambda value: values.ARCH_ALIASES.get(value, value) if isinstance(value, str) else value)] = \
        Field("x86_64", description="Processor architecture.")
    kind: Literal["host", "container", "wsl", "jetson"] = Field("host", description="What it is; only a host gets a driver.")
    glibc: VersionText | None = Field(None, description="Its glibc, when it differs from the system's own or the system is `linux`.")
    kernel: VersionText | None = Field(None, description="Its Linux kernel, X.Y.")
    secure_boot: bool | None = Field(None, description="Whether Secure Boot is on.")
    gcc: VersionText | None = Field(None, description="The compiler that nvcc gets.")
    l4t: VersionText | None = Field(None, description="Jetson: release of Linux for Tegra.")
    jetpack: VersionText | None = Field(None, description="Jetson: JetPack release.")
    windows: VersionText | None = Field(None, description="WSL: build number of Windows.")
    nvswitch: bool | None = Field(None, description="Whether the GPUs sit on an NVSwitch baseboard, which needs Fabric Manager.")


class DriverModel(_Strict):
    """What is asked of the driver."""

    version: RangeText | None = Field(None, description="A range, or an exact release.")
    flavour: Literal["auto", "open", "proprietary"] = Field("auto", description="Flavour of the kernel modules.")
    source: Literal["auto", "vendor", "distro", "runfile", "preinstalled"] = Field("auto", description="Where it comes from.")
    keep: bool = Field(False, description="The machine has exactly this version and it cannot be changed.")

    @model_validator(mode="after")
    def _keep_needs_a_version(self) -> DriverModel:
        if self.keep and not (self.version and values.is_version(self.version)):
            raise PydanticCustomError("keep", "keep needs a version")
        return self


def _packages(value: dict[str, str]) -> dict[str, str]:
    seen: set[str] = set()
    for name in value:
        if (key := values.package_key(name)) in seen:
            raise PydanticCustomError("package-twice", "is here twice", {"name": name})
        seen.add(key)
        if not values.is_package(name):
            raise PydanticCustomError("package", "is no package name", {"name": name})
        if values.package_key(name) == "torch":
            raise PydanticCustomError("package-torch", "torch has its own key", {"name": name})
    return value


class SpecModel(_Strict):
    """A machine, and the torch wanted on it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, title="provision spec")

    spec: Annotated[Literal[1], BeforeValidator(lambda value: 1 if value == "1" else str(value) if isinstance(value, bool) else value)] = \
        Field(description="Version of this format.")
    name: Name = Field("", description="A name of yours for it.")
    target: Text | TargetModel = Field(description="The machine: a system's name, or a mapping.")
    gpus: list[GpuText] | Literal["none"] | None = Field(
        None, description="Product names, capabilities (sm_89, \"8.9\") or PCI ids (10de:2684); all must work. Repeated entries count "
                          "cards. [] or none: there is none. Left out: nothing is demanded of a GPU.")
    driver: RangeText | DriverModel | None = Field(None, description="A range, an exact release, or a mapping.")
    torch: TorchText | None = Field(None, description="A range (PEP 440), an exact version, or latest. Left out: the newest that fits.")
    cuda: CudaText | None = Field(None, description="CUDA of the wheels: \"12.4\", cu124, a range, or cpu.")
    python: RangeText | None = Field(None, description="X.Y, or a range.")
    toolkit: ToolkitText = Field("none", description="none, match (the wheels' version), or a range.")
    cudnn: BundledText = Field("bundled", description="bundled, or a range, which asks for a system cuDNN.")
    nccl: BundledText = Field("bundled", description="bundled, or a range, which asks for a system NCCL.")
    packages: Annotated[dict[str, RangeText], AfterValidator(_packages)] = Field(
        default_factory=dict, description="Packages built against torch, by distribution name, with a range each.")
    installer: Literal["pip", "uv", "conda", "pixi"] = Field("pip", description="What installs the Python packages.")
    environment: Annotated[Text, _checked("path", values.is_path)] = Field("/opt/torch", description="Where the Python environment goes.")
    prefer: Literal["newest", "conservative", "least-change"] = Field("newest", description="What is better when several plans fit.")
