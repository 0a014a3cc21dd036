"""`provision matrix`: answers that the vendor's and PyTorch's own tables give, in every format."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from provisioner.catalog.ask import Matrix, matrix, render_matrix
from provisioner.catalog.load import Catalog, load
from provisioner.errors import Problem


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load(overlays=False)


def linux(found: Matrix) -> dict[tuple[str, str], Any]:
    """(torch, build) -> row of the wheels for Linux x86-64."""
    return {(row.torch, row.build): row for row in found.rows if row.platform == "linux_x86_64" and row.channel == "pip"}


class TestGpu:
    """Which builds hold code for a GPU."""

    def test_pascal_ends_with_the_cuda_12_wheels(self, catalog: Catalog) -> None:
        rows = linux(matrix(catalog, gpu="GTX 1080 Ti", every=True))
        assert max(torch for torch, _ in rows if torch.startswith("2.14")) == "2.14.1"
        assert not any(torch.startswith("2.15") or build.startswith("cu13") for torch, build in rows)
        assert ("2.7.1", "cu126") in rows and ("2.7.1", "cu128") not in rows
        assert {row.driver_last for row in rows.values()} == {"580"}
        assert {row.flavours for row in rows.values()} == {("proprietary",)}

    def test_blackwell_begins_with_torch_2_7_on_cuda_12_8(self, catalog: Catalog) -> None:
        rows = linux(matrix(catalog, gpu="RTX 5090", every=True))
        assert min((tuple(map(int, torch.split("."))), build) for torch, build in rows) == ((2, 7, 0), "cu128")
        assert rows["2.7.1", "cu128"].gpus == {"NVIDIA GeForce RTX 5090": "cubin"}
        assert all(row.flavours == ("open",) and row.driver_min.startswith("570.") for key, row in rows.items() if key[1] == "cu128")

    @pytest.mark.parametrize("os", ["ubuntu2004", "windows"])
    def test_a_k80_ends_before_cudnn_9(self, catalog: Catalog, os: str) -> None:
        rows = [row for row in matrix(catalog, gpu="Tesla K80", os=os, every=True).rows if row.channel == "pip"]
        assert max(tuple(map(int, row.torch.split("."))) for row in rows) == (2, 3, 1)

    def test_an_rtx_4090_runs_code_for_its_major(self, catalog: Catalog) -> None:
        assert linux(matrix(catalog, gpu="4090", torch="2.7.1"))["2.7.1", "cu118"].works == "yes"

    def test_every_gpu_named_has_to_work(self, catalog: Catalog) -> None:
        found = matrix(catalog, gpu="GTX 1080 Ti, RTX 5090", os="ubuntu2204", every=True)
        assert not found.rows
        assert "modules" in {each.reason[0] for each in found.left}  # one wants open modules, the other proprietary ones

    def test_ptx_is_told_from_code(self, catalog: Catalog) -> None:
        row = next(row for row in matrix(catalog, gpu="H100 SXM", torch="2.4.1").rows if row.channel == "conda-forge" and row.build == "cuda118")
        assert (row.works, row.gpus, row.driver_full) == ("ptx", {"NVIDIA H100 80GB HBM3": "ptx"}, "520")
        found = matrix(catalog, gpu="H100 SXM", torch="2.4.1", driver="470.256.02", cuda="11.8")
        assert {each.reason[0] for each in found.left if each.build == "cuda118"} == {"driver-gpu"}

    def test_ptx_without_libraries_is_no_way(self, catalog: Catalog) -> None:
        """The cu111 builds of 1.8 hold PTX, but their CUDA and cuDNN never knew an RTX 5090."""
        assert not matrix(catalog, gpu="RTX 5090", torch="<2.6", every=True).rows


class TestDriver:
    """Which builds a driver serves, and how."""

    def test_535(self, catalog: Catalog) -> None:
        rows = linux(matrix(catalog, driver="535.129.03", every=True))
        assert rows["2.7.1", "cu118"].driver == "full"
        assert rows["2.5.1", "cu121"].driver == "full"
        assert rows["2.6.0", "cu124"].driver == "minor"
        assert not any(build.startswith("cu13") for _, build in rows)

    def test_forward_compatibility_is_for_data_centre_gpus(self, catalog: Catalog) -> None:
        assert linux(matrix(catalog, driver="570.211.01", gpu="A100", torch="2.9.1"))["2.9.1", "cu130"].driver == "forward"
        assert ("2.9.1", "cu130") not in linux(matrix(catalog, driver="570.211.01", gpu="RTX 4090", torch="2.9.1"))

    def test_below_every_floor(self, catalog: Catalog) -> None:
        found = matrix(catalog, driver="390.157", torch="2.7")
        assert not found.rows
        assert all(each.reason[0] == "driver-cuda" for each in found.left)

    def test_a_driver_that_has_dropped_the_gpu(self, catalog: Catalog) -> None:
        found = matrix(catalog, driver="595.91.07", gpu="V100", torch="2.9")
        assert not found.rows and found.left
        assert {each.reason[0] for each in found.left if each.build == "cu126" and each.platform == "linux_x86_64"} == {"driver-gpu"}

    def test_a_windows_number(self, catalog: Catalog) -> None:
        rows = matrix(catalog, driver="572.16", torch="2.7.1").rows
        assert {row.platform for row in rows} == {"win_amd64"}
        assert {row.build: row.driver for row in rows if row.channel == "pip"} == {"cu128": "full", "cu126": "full", "cu118": "full"}

    def test_a_driver_older_than_what_lists_the_gpu(self, catalog: Catalog) -> None:
        row = linux(matrix(catalog, driver="525.60.13", gpu="RTX 4090", torch="2.5.1"))["2.5.1", "cu121"]
        assert (row.works, row.driver) == ("unknown", "unlisted")
        assert not linux(matrix(catalog, driver="520.61.05", gpu="RTX 4090", torch="1.13.1"))

    def test_a_branch_stands_for_its_newest_release(self, catalog: Catalog) -> None:
        assert matrix(catalog, driver="535").about[0]["driver"] == catalog.row("driver_branches", "535").latest


class TestOther:
    """CUDA, systems, Pythons, releases."""

    def test_cuda_12_4(self, catalog: Catalog) -> None:
        rows = linux(matrix(catalog, cuda="12.4", every=True))
        assert set(rows) == {(torch, "cu124") for torch in ("2.4.0", "2.4.1", "2.5.0", "2.5.1", "2.6.0")}
        assert linux(matrix(catalog, cuda="cu124", every=True)) == rows

    def test_manylinux_2_28_is_too_new_for_old_systems(self, catalog: Catalog) -> None:
        rows = linux(matrix(catalog, os="rhel7", every=True))
        assert rows and max(tuple(map(int, torch.split("."))) for torch, _ in rows) < (2, 7)

    def test_python(self, catalog: Catalog) -> None:
        rows = linux(matrix(catalog, python="3.8", every=True))
        assert max(tuple(map(int, torch.split("."))) for torch, _ in rows) == (2, 4, 1)
        assert linux(matrix(catalog, python="cp38", every=True)) == rows

    def test_latest(self, catalog: Catalog) -> None:
        assert {row.torch for row in matrix(catalog, torch="latest").rows} == {"2.15.0"}

    def test_newest_of_each_minor_unless_every(self, catalog: Catalog) -> None:
        assert {torch for torch, _ in linux(matrix(catalog, torch="2.5"))} == {"2.5.1"}
        assert {torch for torch, _ in linux(matrix(catalog, torch="2.5", every=True))} == {"2.5.0", "2.5.1"}

    def test_cpu(self, catalog: Catalog) -> None:
        assert {row.build for row in matrix(catalog, cuda="cpu", torch="2.7").rows} == {"cpu"}

    def test_the_pip_command(self, catalog: Catalog) -> None:
        rows = linux(matrix(catalog, every=True))
        assert rows["2.7.1", "cu126"].install == "pip install torch==2.7.1"
        assert rows["2.7.1", "cu128"].install == "pip install torch==2.7.1 --index-url https://download.pytorch.org/whl/cu128"
        assert rows["1.13.1", "cu116"].install == \
            "pip install torch==1.13.1+cu116 --extra-index-url https://download.pytorch.org/whl/cu116"

    def test_pairs(self, catalog: Catalog) -> None:
        row = linux(matrix(catalog, torch="2.7.1"))["2.7.1", "cu128"]
        assert (row.torchvision, row.torchaudio, row.cudnn, row.nccl) == ("0.22.1", "2.7.1", "9.7.1.26", "2.26.2")

    def test_a_jetson_has_wheels_of_its_own(self, catalog: Catalog) -> None:
        rows = [row for row in matrix(catalog, gpu="Jetson AGX Orin").rows if row.channel == "jetpack"]
        assert {row.platform for row in rows if row.torch == "2.7.0"} >= {"jetpack-6.1", "jetpack-6.2"}
        assert all(row.driver_min == "" for row in rows)

    def test_the_nearest_when_nothing_works(self, catalog: Catalog) -> None:
        found = matrix(catalog, torch="2.15", gpu="V100", os="ubuntu2204", arch="x86_64")
        assert not found.rows
        assert (found.nearest[0].torch, found.nearest[0].build) == ("2.14.1", "cu126")

    @pytest.mark.parametrize(("asked", "near"), [
        ({"torch": "2.99"}, "2.15"), ({"cuda": "12.77"}, "12.9"), ({"python": "3.44"}, "3.15"), ({"driver": "999"}, "620"),
        ({"gpu": "RTX 4909"}, "RTX 4090"), ({"os": "ubuntu2205"}, "ubuntu2204"), ({"torch": "two"}, ""), ({"driver": "new"}, ""),
        ({"os": "debian11", "arch": "riscv"}, "x86_64"),
    ])
    def test_what_nobody_knows_is_bad_input(self, catalog: Catalog, asked: dict[str, str], near: str) -> None:
        with pytest.raises(Problem) as caught:
            matrix(catalog, **asked)  # type: ignore[arg-type]
        assert caught.value.status == 2
        assert near in caught.value.todo


@pytest.fixture(scope="module")
def found(catalog: Catalog) -> Matrix:
    return matrix(catalog, torch="2.7", gpu="GTX 1080 Ti", os="ubuntu2204", why=True)


class TestFormats:
    """Every format says the same."""

    def test_json(self, found: Matrix) -> None:
        told = json.loads(render_matrix(found, "json"))
        assert [(row["torch"], row["build"]) for row in told["rows"]] == [(row.torch, row.build) for row in found.rows]
        assert told["does_not_work"][0]["reason"]
        assert all(fact["source"] and fact["confidence"] for row in told["rows"] for fact in row["why"])
        assert {"torch_builds", "torch_archs", "cuda_majors", "gpus", "capabilities"} <= \
            {fact["table"] for row in told["rows"] for fact in row["why"]}
        assert told["about"][0]["capability"] == "sm_61"

    def test_csv(self, found: Matrix) -> None:
        lines = list(csv.DictReader(io.StringIO(render_matrix(found, "csv"))))
        assert [line["torch"] for line in lines] == [row.torch for row in found.rows]
        assert lines[0]["pythons"] == ";".join(found.rows[0].pythons)
        assert lines[0]["sources"]

    def test_markdown(self, found: Matrix) -> None:
        lines = [line for line in render_matrix(found, "markdown").splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) == 1
        assert lines[2].startswith(f"| {found.rows[0].torch}")

    def test_text_names_sources_by_number(self, found: Matrix) -> None:
        text = render_matrix(found, "text")
        assert "2.7.1*  cu126" in text and "Sources:" in text and "[1] " in text
        assert "no code for NVIDIA GeForce GTX 1080 Ti (sm_61): 2.7.1 cu128" in text

    def test_chinese_lines_up(self, found: Matrix) -> None:
        text = render_matrix(found, "text", "zh")
        assert "不可用" in text and "来源" in text
        assert "Does not work" not in text

    def test_without_why_no_sources(self, catalog: Catalog) -> None:
        found = matrix(catalog, torch="2.7")
        assert "why" not in json.loads(render_matrix(found, "json"))["rows"][0]
        assert "Sources" not in render_matrix(found, "text")
