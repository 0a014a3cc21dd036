"""What a lock names, on systems where names, folders and builds differ. Right values from NVIDIA's repositories and guides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from provisioner.catalog.load import Catalog, load
from provisioner.render import MAIN_SCRIPT, render
from provisioner.solver.artefacts import artefacts
from provisioner.solver.lock import make
from provisioner.solver.plan import Plan, solve
from provisioner.spec.load import load as load_spec


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load(overlays=False)


@pytest.fixture
def plan(catalog: Catalog, tmp_path: Path) -> Any:
    """From the text of a spec to its plan."""

    def made(text: str) -> Plan:
        path = tmp_path / "spec.yaml"
        path.write_text(f"spec: 1\n{text}")
        found = solve(load_spec(str(path)), catalog)
        assert isinstance(found, Plan)
        return found

    return made


def test_each_folder_has_its_own_keyring(plan: Any) -> None:
    """The file has the same name in both folders and a checksum of its own in each."""
    spec = "target: {{os: ubuntu2404, arch: {}}}\ngpus: [H100 PCIe]\ntoolkit: match\n"
    arm, intel = (artefacts(plan(spec.format(arch)))["repository"] for arch in ("aarch64", "x86_64"))
    base = "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404"
    assert arm["url"] == f"{base}/sbsa"
    assert arm["keyring_url"] == f"{base}/sbsa/cuda-keyring_1.1-1_all.deb"
    assert arm["keyring_sha256"] == "6ea7d2737648936820e85677177957a0f6521b840d98eb0bbae0a4f003fa7249"
    assert intel["keyring_url"] == f"{base}/x86_64/cuda-keyring_1.1-1_all.deb"
    assert intel["keyring_sha256"] == "d2a6b11c096396d868758b86dab1823b25e14d70333f1dfa74da5ddaf6a06dba"


@pytest.mark.parametrize(("target", "flavour", "stream"), [
    ("rocky8", "open", "nvidia-driver:580-open"), ("rhel9", "open", "nvidia-driver:580-open"), ("alma9", "proprietary", "nvidia-driver:580-dkms"),
    ("amzn2023", "open", "nvidia-driver:580-open"), ("ubuntu2204", "open", ""), ("rhel10", "open", "")])
def test_module_streams(plan: Any, target: str, flavour: str, stream: str) -> None:
    """EL 8 and 9 and Amazon Linux filter packages of modules; EL 10 has no modules any more, apt never had."""
    found = artefacts(plan(f"target: {target}\ngpus: [A100 PCIe 80GB]\ndriver: {{version: '580', flavour: {flavour}}}\n"))
    assert found["driver"]["stream"] == stream


@pytest.mark.parametrize(("target", "components", "extra"), [
    ("debian12", ["contrib"], []), ("debian13", ["contrib"], []), ("ubuntu2404", [], []), ("rocky9", [], ["epel-release"]),
    ("azl3", [], ["azurelinux-repos-extended"])])
def test_what_drivers_depend_on(plan: Any, target: str, components: list[str], extra: list[str]) -> None:
    found = artefacts(plan(f"target: {target}\ngpus: [A100 PCIe 80GB]\n"))
    assert found["driver"]["action"] == "install"
    assert found["components"] == components
    assert (found["extra_repository"] or {}).get("packages", []) == extra


@pytest.mark.parametrize(("target", "toolkit", "field", "asked", "version", "warned"), [
    ("ubuntu2204", "12.8", "nccl", "2.26.2", "2.26.2-1+cuda12.8", False),  # this CUDA's own
    ("ubuntu2204", "12.9", "nccl", "2.26.2", "2.26.2-1+cuda12.8", False),  # the nearest below
    ("ubuntu2204", "12.6", "nccl", "2.27.7", "2.27.7-1+cuda12.9", False),  # of that major there is but a newer one; never cuda13.0
    ("ubuntu2204", "12.6", "nccl", "2.27.3", "2.27.3-1+cuda12.", True),  # no build is known
    ("rocky8", "11.8", "nccl", "2.15.5", "2.15.5-1+cuda11.8", False),
    ("ubuntu2204", "11.8", "cudnn", "8.9.7.29", "8.9.7.29-1+cuda11.", True),
    ("rocky8", "11.8", "cudnn", "8.9.7.29", "8.9.7.29-1.cuda11.", True),  # rpm's spelling
    ("ubuntu2204", "12.8", "cudnn", "9.10.2.21", "9.10.2.21", False),  # the major is in the package's name
])
def test_builds_of_libraries(plan: Any, target: str, toolkit: str, field: str, asked: str, version: str, warned: bool) -> None:
    """Without a suffix a package manager takes the build for the newest CUDA."""
    found = plan(f"target: {target}\ngpus: [A100 PCIe 80GB]\ncuda: cu{toolkit.replace('.', '')}\ntoolkit: '{toolkit}'\n{field}: '{asked}'\n")
    assert {each["version"] for each in artefacts(found)[field]["packages"]} == {version}
    assert ("library-build" in {each["code"] for each in found.warnings}) == warned


def test_the_archives_driver_on_ubuntu(plan: Any) -> None:
    """The server series, Fabric Manager of the same archive, and no repository of NVIDIA's."""
    spec = "target: ubuntu2204\ngpus: [{}]\ndriver: {{version: '580', source: distro, flavour: {}}}\ntoolkit: none\n"
    node = plan(spec.format(", ".join(["H100 SXM5 80GB"] * 8), "open"))
    found = artefacts(node)
    assert found["driver"]["packages"] == [{"name": "nvidia-driver-580-server-open", "version": ""}]
    assert found["fabric"]["packages"] == [{"name": "nvidia-fabricmanager-580", "version": ""}]
    assert found["repository"] is None
    text = render(make(node, node.spec, "0"), "ubuntu2204", "bash")[MAIN_SCRIPT]
    assert "developer.download.nvidia.com" not in text.replace("https://developer.download.nvidia.com/compute/cuda/repos/*", "")
    old = artefacts(plan(spec.format("Tesla V100 PCIe 32GB", "proprietary")))
    assert old["driver"]["packages"] == [{"name": "nvidia-driver-580-server", "version": ""}]


def test_the_space_inside_the_kernels_release_splits_nothing(plan: Any) -> None:
    found = artefacts(plan("target: rocky9\ngpus: [A100 PCIe 80GB]\n"))["driver"]
    assert found["headers"] == "kernel-devel-$(uname -r)"
