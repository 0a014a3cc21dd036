"""Ways people write GPUs, and the capability that each means.

Capabilities: NVIDIA's list of CUDA GPUs and the chip that pci.ids names; names as nvidia-smi, lspci, clouds (Google's accelerator
types, GKE and Kubernetes labels, Vast.ai, Modal), shops and people write them.
"""

from __future__ import annotations

import pytest

from provisioner.catalog import load
from provisioner.catalog.names import find_gpu, fold_gpu
from provisioner.errors import Problem

#: capability -> ways to write a GPU of it
WRITTEN: dict[int, tuple[str, ...]] = {
    20: (
        "GTX 580", "GTX 480", "Tesla C2050",
    ),
    30: (
        "GTX 770", "GTX 680",
    ),
    32: (
        "Jetson TK1",
    ),
    35: (
        "GTX TITAN", "GTX TITAN Black", "GTX TITAN Z", "GTX 780 Ti", "GTX 780", "GT 710", "Quadro K6000",
        "Tesla K40m", "Tesla K40", "Tesla K20",
    ),
    37: (
        "Tesla K80", "K80", "nvidia-tesla-k80",
    ),
    50: (
        "GTX 750 Ti", "940MX", "GeForce 940MX", "GeForce MX130", "Quadro K2200", "Quadro K620", "Tesla M10",
    ),
    52: (
        "GTX TITAN X", "GeForce GTX TITAN X", "Titan X Maxwell", "Titan X (Maxwell)", "GTX 980 Ti", "GTX 980",
        "980ti", "GTX 970", "GTX 960", "GTX 950", "Quadro M6000", "Quadro M4000", "Quadro M2000", "Tesla M60",
        "Tesla M40", "M40 24GB",
    ),
    53: (
        "Jetson TX1", "Jetson Nano", "Jetson Nano 2GB",
    ),
    60: (
        "Quadro GP100", "Tesla P100", "P100", "Tesla P100-PCIE-16GB", "P100-SXM2-16GB", "nvidia-tesla-p100",
    ),
    61: (
        "GTX 1080 Ti", "GTX1080Ti", "1080 Ti", "GTX_1080_Ti", "GTX 1080", "GTX 1080 Max-Q", "GTX 1070 Ti", "GTX 1070",
        "GTX 1060", "GTX 1060 6GB", "GTX 1060 3GB", "GTX 1050 Ti", "GTX 1050 Mobile", "GT 1030", "MX150", "MX350",
        "Titan Xp", "NVIDIA TITAN Xp", "Titan X Pascal", "Titan X (Pascal)", "NVIDIA TITAN X (Pascal)",
        "Quadro P6000", "P6000", "Quadro P5000", "Quadro P4000", "Quadro P2000", "Quadro P2200", "Quadro P1000",
        "P620", "Quadro P620", "Quadro P400", "Tesla P40", "P40", "Tesla P4", "P106-100",
    ),
    62: (
        "Jetson TX2", "Jetson TX2 NX",
    ),
    70: (
        "Titan V", "NVIDIA TITAN V", "Quadro GV100", "GV100", "Tesla V100", "V100", "NVIDIA V100",
        "Tesla V100-SXM2-16GB", "V100-SXM2-32GB", "Tesla V100-PCIE-32GB", "V100 SXM2 32GB", "V100 32GB",
        "V100 PCIe 16GB", "V100S", "Tesla V100S-PCIE-32GB", "nvidia-tesla-v100", "Tesla_V100", "V100-SXM3-32GB",
    ),
    72: (
        "Jetson AGX Xavier", "Jetson Xavier NX", "Xavier",
    ),
    75: (
        "RTX 2080 Ti", "2080ti", "GeForce RTX 2080 SUPER", "RTX 2080 Super Max-Q", "RTX 2080", "RTX 2070 SUPER",
        "RTX 2070 Max-Q", "RTX 2060 SUPER", "RTX 2060", "RTX 2060 12GB", "TITAN RTX", "NVIDIA TITAN RTX",
        "GTX 1660 Ti", "GTX 1660 SUPER", "1660s", "GTX 1660", "GTX 1650 SUPER", "GTX 1650", "GTX 1650 Ti Mobile",
        "GTX 1650 Max-Q", "GTX 1630", "MX450", "GeForce MX550", "Quadro RTX 8000", "Q_RTX_8000", "RTX 8000",
        "Quadro RTX 6000", "Quadro RTX 5000", "Quadro RTX 4000", "Quadro T2000", "T1000", "NVIDIA T1000 8GB", "T400",
        "T600", "Quadro T1000", "Tesla T4", "T4", "NVIDIA T4", "nvidia-tesla-t4", "T4G", "CMP 50HX",
    ),
    80: (
        "A100", "NVIDIA A100", "Tesla A100", "A100 80GB PCIe", "NVIDIA A100 80GB PCIe", "NVIDIA A100-SXM4-40GB",
        "A100-SXM4-80GB", "A100 SXM4 80GB", "A100 SXM 80GB", "A100-SXM-80GB", "A100 80GB SXM4", "A100-80GB",
        "A100-40GB", "A100 80G", "NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "A100-SXM4-40GB-SHARED", "A100_PCIE", "A100_SXM4", "A100X",
        "nvidia-tesla-a100", "nvidia-a100-80gb", "GRID A100", "A800", "A800 80GB", "A800-SXM4-80GB",
        "A800 40GB Active", "A30", "NVIDIA A30", "CMP 170HX",
    ),
    86: (
        "NVIDIA GeForce RTX 3090 Ti", "3090ti", "RTX 3090", "3090", "RTX 3080 Ti", "RTX 3080 12GB", "RTX 3080 10GB",
        "RTX 3080", "3080 Laptop", "RTX 3070 Ti", "RTX 3070 Mobile / Max-Q", "RTX 3060 Ti", "RTX 3060 12GB",
        "RTX 3060", "NVIDIA GeForce RTX 3060 Laptop GPU", "RTX_3060_laptop", "RTX 3050 Ti Laptop GPU", "RTX 3050",
        "RTX 3050 6GB", "RTX 2050", "MX570", "A40", "A10", "A10G", "NVIDIA A10G", "A16", "A2", "RTX A6000",
        "NVIDIA RTX A6000", "Quadro RTX A6000", "A6000", "RTX_A6000", "RTX A5500", "RTX A5000", "A5000", "RTX A4500",
        "RTX A4000", "A4000", "RTX A2000", "RTX A2000 12GB", "RTX A1000", "RTX A3000 Laptop GPU", "A2000 Laptop",
    ),
    87: (
        "Jetson AGX Orin", "Jetson AGX Orin 64GB", "NVIDIA Jetson AGX Orin Developer Kit", "Jetson Orin NX",
        "Jetson Orin NX 16GB", "Jetson Orin Nano", "Jetson Orin Nano Super", "NVIDIA Jetson Orin Nano Developer Kit",
        "Orin", "Orin Nano", "IGX Orin",
    ),
    89: (
        "NVIDIA GeForce RTX 4090", "GeForce RTX 4090", "RTX 4090", "RTX4090", "RTX-4090", "rtx_4090", "4090",
        "Nvidia 4090", "4090D", "RTX 4090 D", "RTX 4090 24GB", "NVIDIA-GeForce-RTX-4090", "GeForce RTX™ 4090",
        "NVIDIA(R) GeForce(R) RTX(TM) 4090", "NVIDIA® GeForce® RTX™ 4090", "RTX 4090 Laptop", "4090 mobile",
        "AD102 [GeForce RTX 4090]", "NVIDIA Corporation AD102 [GeForce RTX 4090] (rev a1)", "10de:2684",
        "RTX 4080 SUPER", "4080 super", "4080S", "RTX 4080S", "RTX 4070 Ti SUPER", "4070 ti super", "RTX 4070S Ti",
        "RTX 4070S", "RTX 4070 Ti", "RTX 4070 Laptop", "RTX 4060 Ti 16GB", "RTX 4060", "4060 Laptop GPU", "RTX 4050",
        "RTX 4050 Laptop GPU", "L4", "NVIDIA L4", "nvidia-l4", "L40", "L40S", "NVIDIA L40S", "L40G", "L20", "L2",
        "RTX 6000 Ada", "RTX 6000 Ada Generation", "NVIDIA RTX 6000 Ada Generation", "RTX_6000Ada", "RTX6000-Ada",
        "6000 Ada", "RTX 5880 Ada", "RTX 5000 Ada", "RTX 4500 Ada", "RTX 4000 Ada", "RTX 4000 SFF Ada",
        "RTX 2000 Ada", "RTX 3500 Ada Laptop",
    ),
    90: (
        "H100", "NVIDIA H100", "H100 PCIe", "NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3", "H100 SXM5", "H100 SXM",
        "H100_SXM", "H100-80GB", "H100 80GB", "H100 SXM5 80GB", "H100-SXM5-80GB", "NVIDIA-H100-80GB-HBM3",
        "nvidia-h100-80gb", "nvidia-h100-mega-80gb", "H100 NVL", "NVIDIA H100 NVL", "H100 94GB", "H200",
        "NVIDIA H200", "H200 SXM", "H200-141GB", "nvidia-h200-141gb", "H200 NVL", "H800", "H800 PCIe", "H20",
        "H20-96GB", "H20 141GB", "GH200", "NVIDIA GH200 480GB", "Grace Hopper", "GH200 96GB", "GH200 144G HBM3e",
    ),
    100: (
        "B100", "B200", "NVIDIA B200", "B200 SXM", "nvidia-b200", "HGX B200", "DGX B200", "GB200", "NVIDIA GB200",
        "GB200 NVL72", "nvidia-gb200",
    ),
    103: (
        "B300", "NVIDIA B300 SXM6 AC", "HGX B300", "GB300", "GB300 NVL72",
    ),
    107: (
        "Rubin", "Vera Rubin", "R200", "VR200",
    ),
    110: (
        "Jetson Thor", "Jetson AGX Thor", "Thor", "Jetson T5000", "NVIDIA Thor",
    ),
    120: (
        "NVIDIA GeForce RTX 5090", "NVIDIA GeForce RTX 5090 D", "RTX 5090 D V2", "RTX 5090D", "RTX_5090", "5090",
        "rtx5090", "GeForce 5090", "NVIDIA RTX 5090", "NVIDIA GeForce RTX 5090 Laptop GPU", "RTX 5090 Laptop",
        "RTX 5090 Mobile", "RTX 5080", "5080 laptop", "RTX 5070 Ti", "5070ti", "RTX 5070Ti Laptop GPU", "RTX 5070",
        "RTX 5060 Ti 16GB", "RTX 5060 Ti 8GB", "RTX 5060", "RTX 5050", "RTX 5050 Laptop GPU", "RTX PRO 6000",
        "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000 Blackwell", "RTX PRO 6000 WS",
        "RTX PRO 6000 Blackwell Max-Q", "RTX Pro 6000 Max-Q", "RTX PRO 6000 Blackwell Server Edition",
        "RTX PRO 6000 SE", "nvidia-rtx-pro-6000", "RTX PRO 5000", "RTX PRO 5000 Blackwell", "RTX PRO 4500 Blackwell",
        "RTX PRO 4000", "RTX PRO 4000 Blackwell SFF", "RTX PRO 2000", "RTX PRO 3000 Blackwell Laptop",
    ),
    121: (
        "GB10", "NVIDIA GB10", "DGX Spark", "NVIDIA DGX Spark",
    ),
}

#: what is no GPU of NVIDIA's, or none at all
UNKNOWN = (
    "MI300X",
    "AMD Instinct MI300X",
    "RX 7900 XTX",
    "Radeon RX 7900 XTX",
    "Arc A770",
    "Intel Arc A770",
    "GTX 4090",
    "RTX 1080 Ti",
    "RTX 9090",
    "H1000",
    "Apple M3",
    "GPU",
    "NVIDIA",
    "",
    "TPU v4",
    "Gaudi 3",
    "A100000",
    "RTX 4095",
    "B20",
    "GeForce",
)


@pytest.mark.parametrize(("text", "sm"), [(text, sm) for sm, texts in WRITTEN.items() for text in texts])
def test_a_way_to_write_a_gpu_means_its_capability(text: str, sm: int) -> None:
    found = find_gpu(load.load(), text)
    assert found[0].sm == sm
    assert {gpu.sm for gpu in found} == {sm}, sorted({gpu.name for gpu in found})


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_is_no_gpu_of_nvidias_is_a_problem_that_says_what_to_do(text: str) -> None:
    with pytest.raises(Problem) as raised:
        find_gpu(load.load(), text)
    assert raised.value.code == "gpu-unknown"
    assert raised.value.todo


@pytest.mark.parametrize("text", ["MI300X", "AMD Instinct MI300X", "RX 7900 XTX", "Intel Arc A770", "Gaudi 3"])
def test_gpus_of_other_makers_are_told_apart_from_misspelt_ones(text: str) -> None:
    with pytest.raises(Problem) as raised:
        find_gpu(load.load(), text)
    assert "other makers" in raised.value.todo


@pytest.mark.parametrize(("text", "name"), [
    # the form factor decides on NVSwitch and Fabric Manager
    ("A100", "NVIDIA A100-PCIE-40GB"), ("A100 80GB", "NVIDIA A100 80GB PCIe"), ("A100 80GB SXM4", "NVIDIA A100-SXM4-80GB"),
    ("A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB"), ("H100 SXM", "NVIDIA H100 80GB HBM3"), ("DGX H100", "NVIDIA H100 80GB HBM3"),
    ("H100 94GB", "NVIDIA H100 NVL"), ("H200-141GB", "NVIDIA H200"), ("HGX B200", "NVIDIA B200"), ("GB200 NVL72", "NVIDIA GB200"),
    ("V100S", "Tesla V100S-PCIE-32GB"), ("V100 SXM2 32GB", "Tesla V100-SXM2-32GB"),
    # cards of one number and several names
    ("4070S", "NVIDIA GeForce RTX 4070 SUPER"), ("RTX 4070S Ti", "NVIDIA GeForce RTX 4070 Ti SUPER"),
    ("5090D", "NVIDIA GeForce RTX 5090 D"), ("RTX 4090 Mobile", "NVIDIA GeForce RTX 4090 Laptop GPU"),
    ("RTX 4050", "NVIDIA GeForce RTX 4050 Laptop GPU"), ("RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation"),
    ("RTX 6000", "Quadro RTX 6000"), ("A6000", "NVIDIA RTX A6000"), ("Quadro P6000", "Quadro P6000"),
    ("RTX PRO 6000 Max-Q", "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"),
    ("RTX PRO 5000", "NVIDIA RTX PRO 5000 Blackwell"), ("Titan X Pascal", "NVIDIA TITAN X (Pascal)"),
    ("GTX TITAN X", "NVIDIA GeForce GTX TITAN X"), ("DGX Spark", "NVIDIA GB10"), ("10de:2684", "NVIDIA GeForce RTX 4090"),
    ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA A100-SXM4-40GB"),
])
def test_a_way_to_write_a_gpu_means_that_product(text: str, name: str) -> None:
    assert find_gpu(load.load(), text)[0].name == name


def test_every_product_is_found_by_its_own_name() -> None:
    catalog = load.load()
    for gpu in catalog.gpus:
        assert gpu in find_gpu(catalog, gpu.name), gpu.name


def test_every_alias_is_in_the_form_it_is_looked_up_in() -> None:
    for alias in load.load().gpu_aliases:
        assert fold_gpu(alias.alias) == alias.alias


def test_a_product_that_the_driver_lists_comes_before_one_that_others_copied() -> None:
    for text in ("GT 1030", "GTX 750 Ti", "GTX 960"):
        assert find_gpu(load.load(), text)[0].confidence == "measured"
