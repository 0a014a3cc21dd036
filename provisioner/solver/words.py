"""Every sentence of the solver, in English and Simplified Chinese. `say` fills one in."""

from __future__ import annotations

WORDS: dict[str, tuple[str, str]] = {
    # -- facts that take part in a conflict, or that bar a better choice
    "is": ("{card} is {sm}", "{card} 是 {sm}"),
    "branch-flavour": (
        "driver branch {branch} comes with {having} kernel modules",
        "驱动分支 {branch} 只带 {having} 内核模块",
    ),
    "platform-cuda": (
        "CUDA wheels for {platform} are those of torch {first} to {last}",
        "{platform} 的 CUDA wheel 只有 torch {first} 到 {last}",
    ),
    "kernels-none": (
        "{who}: no {platform} wheel of torch has code for it",
        "{who}：{platform} 上没有任何 torch wheel 含有它的代码",
    ),
    "kernels-first": (
        "{who}; the first wheels with kernels for it are torch {first} on {builds}",
        "{who}；最早含有它的内核的 wheel 是 torch {first}（{builds}）",
    ),
    "kernels-last": (
        "{who}; the last wheels with kernels for it are torch {last} on {builds}",
        "{who}；最后含有它的内核的 wheel 是 torch {last}（{builds}）",
    ),
    "kernels-builds": (
        "{who}; for torch {torch} the wheels with kernels for it are {builds}",
        "{who}；torch {torch} 中含有它的内核的 wheel 是 {builds}",
    ),
    "kernels-span": (
        "{who}; wheels with kernels for it are torch {first} to {last}",
        "{who}；含有它的内核的 wheel 是 torch {first} 到 {last}",
    ),
    "kernels-here": (" ({wheel} has {sms})", "（{wheel} 含 {sms}）"),
    "kernels-unknown": ("nobody knows which GPUs {wheel} has code for", "没有人知道 {wheel} 含有哪些 GPU 的代码"),
    "bundled-cudnn-new": (
        "{wheel} brings cuDNN {cudnn}, which does not serve {sm} ({card}) yet",
        "{wheel} 自带 cuDNN {cudnn}，它还不支持 {sm}（{card}）",
    ),
    "bundled-cudnn": (
        "{wheel} brings cuDNN {cudnn}, which no longer serves {sm} ({card}); the last torch whose cuDNN does is "
        "{last}",
        "{wheel} 自带 cuDNN {cudnn}，它不再支持 {sm}（{card}）；自带的 cuDNN 仍支持它的最后一个 torch 是 {last}",
    ),
    "generation-last": (
        "{card} is {architecture}, which drivers serve up to branch {last}",
        "{card} 属于 {architecture}，驱动只支持到 {last} 分支",
    ),
    "generation-first": (
        "{card} is {architecture}, which drivers serve from branch {first} on",
        "{card} 属于 {architecture}，从 {first} 分支起的驱动才支持",
    ),
    "listed": ("the first driver that lists {card} is {first}", "最早列出 {card} 的驱动是 {first}"),
    "listed-branch": (
        "in branch {branch} the first driver that lists {card} is {first}",
        "在 {branch} 分支中，最早列出 {card} 的驱动是 {first}",
    ),
    "unlisted": (
        "the README of driver {driver} does not list {card}; the first that does is {first}",
        "驱动 {driver} 的 README 没有列出 {card}；最早列出它的是 {first}",
    ),
    "modules-unsupported": (
        "{card} ({architecture}) has no open kernel modules: it needs the proprietary ones",
        "{card}（{architecture}）没有开放内核模块：它需要专有模块",
    ),
    "modules-required": (
        "{card} ({architecture}) runs on the open kernel modules alone",
        "{card}（{architecture}）只能使用开放内核模块",
    ),
    "modules-flavour": (
        "driver {driver} has no {flavour} kernel modules for {card}",
        "驱动 {driver} 没有适用于 {card} 的 {flavour} 内核模块",
    ),
    "ptx": (
        "{wheel} has only PTX for {card} ({sm}); it is compiled by a driver of CUDA {cuda} or newer (branch {branch})",
        "{wheel} 只含 {card}（{sm}）的 PTX；需要 CUDA {cuda} 或更新的驱动（{branch} 分支）来编译",
    ),
    "support": ("wheels of CUDA {cuda} need driver {floor} or newer", "CUDA {cuda} 的 wheel 需要 {floor} 或更新的驱动"),
    "support-have": (
        "wheels of CUDA {cuda} need driver {floor} or newer, and {driver} is older",
        "CUDA {cuda} 的 wheel 需要 {floor} 或更新的驱动，而 {driver} 更旧",
    ),
    "forward-compat": (
        "forward-compatibility packages are for data-centre GPUs, which {card} is not",
        "前向兼容包只用于数据中心 GPU，而 {card} 不是",
    ),
    "platform": ("torch {torch} has no wheel for {platform}{span}", "torch {torch} 没有 {platform} 的 wheel{span}"),
    "platform-span": ("; there it goes from {first} to {last}", "；那里只有 {first} 到 {last}"),
    "platform-none": ("there are no CUDA wheels for {platform}", "{platform} 没有 CUDA wheel"),
    "channel": (
        "conda-forge has torch {first} to {last} for {platform}, not what is asked for",
        "conda-forge 上 {platform} 的 torch 为 {first} 到 {last}，没有所要求的",
    ),
    "glibc": ("{wheel} needs glibc {needs}; {os} has {have}", "{wheel} 需要 glibc {needs}；{os} 是 {have}"),
    "jetpack": (
        "for JetPack on {os} there are wheels of torch {torches} for Python {pythons} alone",
        "{os} 上的 JetPack 只有 torch {torches}、Python {pythons} 的 wheel",
    ),
    "jetpack-none": (
        "no JetPack with wheels of torch is known for {os}",
        "{os} 上没有已知的、带有 torch wheel 的 JetPack",
    ),
    "builds": ("torch {torch} for {platform} comes as {builds}", "{platform} 的 torch {torch} 只有 {builds}"),
    "needs-cuda": ("a CPU build leaves {card} unused", "CPU 版本不会使用 {card}"),
    "soc": (
        "{card} is part of a Jetson: generic wheels and drivers do not serve it, only those of JetPack (kind: jetson)",
        "{card} 是 Jetson 的一部分：通用的 wheel 和驱动不支持它，只有 JetPack 的才行（kind: jetson）",
    ),
    "driver-offer": (
        "{origin} has no driver {driver} with {flavour} modules for {os} {arch}",
        "{origin}没有适用于 {os} {arch}、带 {flavour} 模块的驱动 {driver}",
    ),
    "wheel-python": (
        "torch {torch} has wheels for Python {first} to {last}",
        "torch {torch} 的 wheel 支持 Python {first} 到 {last}",
    ),
    "toolkit-major": (
        "torch refuses to build extensions with a toolkit of another CUDA major: {wheel} is CUDA {cuda}, the toolkit "
        "{toolkit}",
        "torch 拒绝用另一个 CUDA 主版本的工具包编译扩展：{wheel} 是 CUDA {cuda}，工具包是 {toolkit}",
    ),
    "compiles": (
        "CUDA toolkits {first} to {last} compile for {card} ({sm})",
        "能为 {card}（{sm}）编译的 CUDA 工具包是 {first} 到 {last}",
    ),
    "toolkit-offer": (
        "the vendor's repository for {os} {arch} holds CUDA toolkits {span}, not {toolkit}",
        "厂商的 {os} {arch} 软件源只有 CUDA 工具包 {span}，没有 {toolkit}",
    ),
    "toolkit-offer-none": (
        "the vendor has no repository with CUDA toolkits for {os} {arch}",
        "厂商没有 {os} {arch} 的 CUDA 工具包软件源",
    ),
    "gcc": (
        "nvcc of CUDA {toolkit} takes gcc up to {last}, and this machine's is {gcc}",
        "CUDA {toolkit} 的 nvcc 最高接受 gcc {last}，而这台机器是 gcc {gcc}",
    ),
    "cudnn-cuda": (
        "cuDNN {version} was built for CUDA {cudas}, not for {cuda}",
        "cuDNN {version} 为 CUDA {cudas} 构建，不适用于 {cuda}",
    ),
    "system-cudnn": (
        "cuDNN {version} serves sm_{low} to sm_{high}, and {card} is {sm}",
        "cuDNN {version} 支持 sm_{low} 到 sm_{high}，而 {card} 是 {sm}",
    ),
    "nccl-cuda": ("NCCL {version} was not built for CUDA {cuda}", "NCCL {version} 没有为 CUDA {cuda} 构建"),
    "nccl-platform": ("there is no NCCL for {os}", "{os} 上没有 NCCL"),
    "package-pair": ("{package} {version} is built for torch {torch}", "{package} {version} 是为 torch {torch} 构建的"),
    "package-system": (
        "{package} has wheels for {systems} alone, none for {system}",
        "{package} 只有 {systems} 的 wheel，没有 {system} 的",
    ),
    "package-wheel": (
        "{package} {version} has no ready wheel for {wheel}",
        "{package} {version} 没有适用于 {wheel} 的现成 wheel",
    ),
    "package-glibc": (
        "the wheels of {package} {version} need glibc {needs}; {os} has {have}",
        "{package} {version} 的 wheel 需要 glibc {needs}；{os} 是 {have}",
    ),
    "package-source": (
        "{package} comes as source and has no ready wheel for {wheel}; with a toolkit it could be built",
        "{package} 只有源码，没有适用于 {wheel} 的现成 wheel；有工具包才能编译",
    ),
    "package-python": (
        "{package} {version} does not go with Python {python}",
        "{package} {version} 不支持 Python {python}",
    ),
    "package-gpu": (
        "{package} {version} serves GPUs from sm_{low}{high}, and {card} is {sm}",
        "{package} {version} 支持 sm_{low} 起{high}的 GPU，而 {card} 是 {sm}",
    ),
    "package-gpu-high": (" to sm_{high}", "、到 sm_{high} 为止"),
    "package-pins": ("{package} {version} pins {other} {pin}", "{package} {version} 固定要求 {other} {pin}"),
    "windows-build": (
        "CUDA in WSL needs Windows build {needs}; this one is {have}",
        "WSL 中使用 CUDA 需要 Windows 内部版本 {needs}；这台是 {have}",
    ),
    # -- a line of the user's
    "asks": ("{where} asks for {field} {value}", "{where}要求 {field} {value}"),
    "asks-gpu": ("{where} names {value}", "{where}写的是 {value}"),
    "asks-keep": ("{where} keeps driver {value}", "{where}保留驱动 {value}"),
    "asks-target": ("the target is {value}", "目标是 {value}"),
    "asks-none": ("{where} says there is no GPU", "{where}表示没有 GPU"),
    "line": ("line {line}", "第 {line} 行"),
    "your-spec": ("your spec", "规格文件"),
    "unknown": (
        "the catalogue knows no {field} {value}; the nearest are {near}",
        "目录中没有 {field} {value}；最接近的是 {near}",
    ),
    "unknown-none": ("the catalogue knows no {field} {value}", "目录中没有 {field} {value}"),
    # -- alternatives
    "alt-torch": ("another torch: {to} instead of {from}", "换一个 torch：{to} 代替 {from}"),
    "alt-cuda": ("another wheel: {to} instead of {from}", "换一个 wheel：{to} 代替 {from}"),
    "alt-cuda-out": ("without the wish for {from}", "不再要求 {from}"),
    "alt-python": ("another Python: {to} instead of {from}", "换一个 Python：{to} 代替 {from}"),
    "alt-driver.version": ("another driver: {to} instead of {from}", "换一个驱动：{to} 代替 {from}"),
    "alt-driver.keep": ("let the driver be replaced", "允许更换驱动"),
    "alt-driver.flavour": ("{to} kernel modules instead of {from}", "内核模块用 {to} 代替 {from}"),
    "alt-driver.source": ("the driver from {to} instead of {from}", "驱动来源用 {to} 代替 {from}"),
    "alt-toolkit-build": ("a toolkit, to build what has no ready wheel", "加上工具包，编译没有现成 wheel 的包"),
    "alt-toolkit": ("toolkit {to} instead of {from}", "工具包用 {to} 代替 {from}"),
    "alt-cudnn": ("cuDNN {to} instead of {from}", "cuDNN 用 {to} 代替 {from}"),
    "alt-nccl": ("NCCL {to} instead of {from}", "NCCL 用 {to} 代替 {from}"),
    "alt-installer": ("install by {to} instead of {from}", "用 {to} 代替 {from} 安装"),
    "alt-package": ("{package} {to} instead of {from}", "{package} 用 {to} 代替 {from}"),
    "alt-package-out": ("without {package}", "去掉 {package}"),
    "alt-target.gcc": ("gcc {to} for nvcc instead of {from}", "nvcc 用 gcc {to} 代替 {from}"),
    "alt-target.glibc": ("a system with glibc {to} instead of {from}", "glibc 为 {to} 的系统代替 {from}"),
    "alt-target": ("another system: {to} instead of {from}", "换一个系统：{to} 代替 {from}"),
    "alt-cuda-cpu": ("the CPU build instead of {from}", "用 CPU 版本代替 {from}"),
    "alt-target.kind": ("a {to} target instead of a {from}", "目标类型用 {to} 代替 {from}"),
    "alt-target.windows": (
        "Windows build {to} or newer instead of {from}",
        "Windows 内部版本 {to} 或更新，代替 {from}",
    ),
    "alt-gpus": ("two environments: this one for {to} only", "分成两个环境：这一个只给 {to}"),
    "alt-gpus-none": ("the CPU build, without {from}", "CPU 版本，不使用 {from}"),
    "alt-other": ("{field}: {to} instead of {from}", "{field}：{to} 代替 {from}"),
    "and": ("; ", "；"),
    # -- why a choice
    "best-torch": ("{value} is the newest torch in the catalogue", "{value} 是目录中最新的 torch"),
    "best-asked": ("{value} is the newest that {where} ({asked}) allows", "{value} 是{where}（{asked}）允许的最新版本"),
    "only-asked": ("{where} asks for {asked}", "{where}要求 {asked}"),
    "not-better-many": ("{better} do not fit: {why}", "{better} 不合适：{why}"),
    "not-better": ("{better} does not fit: {why}", "{better} 不合适：{why}"),
    "not-better-order": (
        "{better} would fit only at the cost of {cost}, which comes first",
        "{better} 要以 {cost} 为代价才合适，而后者优先",
    ),
    "cost-sure": ("what is known for certain", "确定的事实"),
    "cost-compat": ("doing without a forward-compatibility package", "不用前向兼容包"),
    "cost-kernels": ("kernels built for every GPU", "为每个 GPU 编译好的内核"),
    "cost-packaged": ("a packaged driver", "以软件包安装的驱动"),
    "cost-support": ("a driver that serves the wheel's CUDA in full", "完整支持 wheel 的 CUDA 的驱动"),
    "cost-driver": ("driver {driver}", "驱动 {driver}"),
    "cost-python": ("the newer Python", "更新的 Python"),
    "conservative": (
        "`prefer: conservative` stays one minor behind {newest}",
        "`prefer: conservative` 比 {newest} 落后一个次版本",
    ),
    "next": ("Next best: {value}.", "次优：{value}。"),
    "only": ("Nothing else fits.", "没有其他合适的。"),
    "cuda-cubin": ("{wheel} has kernels for every GPU ({sms})", "{wheel} 含有每个 GPU 的内核（{sms}）"),
    "cuda-ptx": (
        "{wheel} has PTX for {sms}, compiled by the driver at first use",
        "{wheel} 含有 {sms} 的 PTX，首次使用时由驱动编译",
    ),
    "cuda-none": ("no GPU is named, so the newest CUDA build is taken", "没有写明 GPU，因此选最新的 CUDA 版本"),
    "cuda-cpu": ("there is no GPU, so the CPU build", "没有 GPU，因此用 CPU 版本"),
    "cuda-asked-cpu": ("{where} asks for the CPU build", "{where}要求 CPU 版本"),
    "cuda-no-other": ("there are only CPU builds for {platform}", "{platform} 只有 CPU 版本"),
    "driver-kept": ("{driver} is what the machine has ({where})", "{driver} 是机器上已有的（{where}）"),
    "driver-full": (
        "branch {branch} serves CUDA {serves}, the wheel's {cuda} in full",
        "{branch} 分支支持 CUDA {serves}，完整支持 wheel 的 {cuda}",
    ),
    "driver-minor": (
        "branch {branch} serves CUDA {serves}; the wheel's {cuda} runs by minor-version compatibility (from {floor})",
        "{branch} 分支支持 CUDA {serves}；wheel 的 {cuda} 依靠次版本兼容运行（从 {floor} 起）",
    ),
    "driver-compat": (
        "branch {branch} serves CUDA {serves}; {package} lifts it to the wheel's {cuda}",
        "{branch} 分支支持 CUDA {serves}；{package} 把它提升到 wheel 的 {cuda}",
    ),
    "driver-life": ("{kind}, supported until {end}", "{kind}，支持到 {end}"),
    "driver-life-open": ("{kind}, no end stated", "{kind}，未说明终止时间"),
    "driver-ended": ("{kind}, which ended {end}", "{kind}，已于 {end} 终止"),
    "driver-newest": ("{driver} is its newest release on offer", "{driver} 是其中可得的最新版本"),
    "LTSB": ("long-term support branch", "长期支持分支"),
    "PB": ("production branch", "生产分支"),
    "NFB": ("new-feature branch", "新功能分支"),
    "legacy": ("legacy branch", "旧版分支"),
    "beta": ("beta branch", "测试分支"),
    "flavour-required": ("{cards} needs the open kernel modules", "{cards} 需要开放内核模块"),
    "flavour-unsupported": ("{cards} needs the proprietary kernel modules", "{cards} 需要专有内核模块"),
    "flavour-open": (
        "every GPU runs on the open modules, NVIDIA's default from branch 560",
        "所有 GPU 都能用开放模块，这是 NVIDIA 从 560 分支起的默认",
    ),
    "flavour-driver": ("driver {driver} has no others", "驱动 {driver} 没有别的"),
    "flavour-free": (
        "no GPU is named; the open modules serve Turing and newer",
        "没有写明 GPU；开放模块支持 Turing 及更新的 GPU",
    ),
    "flavour-other": (
        "the open modules of this driver do not serve every GPU, or are not on offer",
        "此驱动的开放模块不支持所有 GPU，或无法获得",
    ),
    "source-kept": ("it is on the machine already", "机器上已经有了"),
    "source-vendor": ("NVIDIA's own repository has it for {os}", "NVIDIA 自己的 {os} 软件源提供它"),
    "source-windows": ("NVIDIA's installer for Windows", "NVIDIA 的 Windows 安装程序"),
    "source-distro": (
        "{os} itself packages it; the vendor's repository has none that fits",
        "{os} 自己打包了它；厂商软件源没有合适的",
    ),
    "source-runfile": (
        "no package of it fits {os}, so NVIDIA's run file",
        "没有适用于 {os} 的软件包，因此使用 NVIDIA 的 run 文件",
    ),
    "python-newest": (
        "{value} is the newest with wheels for torch {torch}",
        "{value} 是有 torch {torch} wheel 的最新版本",
    ),
    "python-own": ("{value} is the system's own", "{value} 是系统自带的"),
    "toolkit-match": ("the newest release of the wheel's own CUDA {cuda}", "wheel 自己的 CUDA {cuda} 的最新版本"),
    "toolkit-range": ("the newest on offer that {where} ({asked}) allows", "{where}（{asked}）允许的、可得的最新版本"),
    "toolkit-conda": ("; it comes from conda-forge", "；来自 conda-forge"),
    "library-pinned": ("{wheel} brings it", "{wheel} 自带"),
    "library-system": (
        "{where} asks for a system one; the newest that fits is taken",
        "{where}要求系统版本；取合适的最新版",
    ),
    "package-built": ("{version} is built for torch {torch}", "{version} 是为 torch {torch} 构建的"),
    "package-newest": (
        "{version} is the newest that goes with torch {torch} and Python {python}",
        "{version} 是支持 torch {torch} 和 Python {python} 的最新版本",
    ),
    "package-build-it": (
        "{version} has no ready wheel; it is built with the toolkit",
        "{version} 没有现成的 wheel；用工具包编译",
    ),
    # -- warnings
    "warn-unknown": (
        "This plan rests on something nobody has stated: {what}.",
        "此方案依赖于没有人说明过的事实：{what}。",
    ),
    "warn-derived": (
        "The GPU code of {wheel} is known second-hand only ({source}).",
        "{wheel} 的 GPU 代码仅有间接来源（{source}）。",
    ),
    "warn-ptx": (
        "{cards}: the wheel has PTX only; the first run compiles it and is slow.",
        "{cards}：wheel 只含 PTX；首次运行要编译，会很慢。",
    ),
    "warn-minor": (
        "Driver {driver} is older than CUDA {cuda} of the wheel and runs it by minor-version compatibility: no PTX "
        "from newer toolkits, and features that need a newer driver fail.",
        "驱动 {driver} 比 wheel 的 CUDA {cuda} 旧，依靠次版本兼容运行：不能编译较新工具包的 PTX，需要更新驱动的功能会"
        "失败。",
    ),
    "warn-compat": (
        "The driver is below the floor of CUDA {cuda}: {package} has to be installed and its folder put on the "
        "loader's path.",
        "驱动低于 CUDA {cuda} 的下限：必须安装 {package} 并把它的目录加入加载路径。",
    ),
    "warn-ended": (
        "Driver branch {branch} ended {end}: no more security fixes.",
        "驱动分支 {branch} 已于 {end} 终止：不再有安全修复。",
    ),
    "warn-runfile": (
        "No package of driver {driver} fits {os}; it is installed by NVIDIA's run file, which system updates do not "
        "know of.",
        "没有适用于 {os} 的驱动 {driver} 软件包；用 NVIDIA 的 run 文件安装，系统更新不知道它。",
    ),
    "warn-fabric": (
        "{cards}: NVSwitch baseboards need Fabric Manager of exactly the driver's version ({driver}); without it "
        "CUDA stops with error 802.",
        "{cards}：NVSwitch 基板需要与驱动版本完全一致的 Fabric Manager（{driver}）；没有它 CUDA 会以错误 802 停止。",
    ),
    "warn-fabric-maybe": (
        "{count} x {card}: on an NVSwitch baseboard Fabric Manager of exactly the driver's version is needed; say "
        "`nvswitch: true` or `false` under `target`.",
        "{count} 个 {card}：在 NVSwitch 基板上需要与驱动版本完全一致的 Fabric Manager；请在 `target` 下写明 "
        "`nvswitch: true` 或 `false`。",
    ),
    "warn-nvlsm": (
        "{cards} on an HGX baseboard also need nvlsm, the subnet manager of NVLink 5, and the module ib_umad.",
        "HGX 基板上的 {cards} 还需要 NVLink 5 的子网管理器 nvlsm 和模块 ib_umad。",
    ),
    "warn-imex": (
        "{cards}: memory shared between nodes of an NVL72 rack needs nvidia-imex of exactly the driver's version.",
        "{cards}：NVL72 机柜各节点之间共享内存需要与驱动版本完全一致的 nvidia-imex。",
    ),
    "warn-toolkit-minor": (
        "The toolkit is CUDA {toolkit}, the wheel {cuda}: extensions build with a warning of torch's.",
        "工具包是 CUDA {toolkit}，wheel 是 {cuda}：编译扩展时 torch 会发出警告。",
    ),
    "warn-own-rows": (
        "this plan rests on rows of your own catalogue overlay: {rows}",
        "此方案依据您自己的目录覆盖数据：{rows}",
    ),
    "warn-gcc": (
        "nvcc of CUDA {toolkit} takes gcc up to {last}; {os} has gcc {gcc}. Install gcc-{last} beside it and set "
        "NVCC_CCBIN.",
        "CUDA {toolkit} 的 nvcc 最高接受 gcc {last}；{os} 是 gcc {gcc}。请另外安装 gcc-{last} 并设置 NVCC_CCBIN。",
    ),
    "warn-toolkit-conda": (
        "The toolkit comes from conda-forge into the environment, with its own gcc; nothing is installed in the "
        "system.",
        "工具包从 conda-forge 装入环境，自带 gcc；不会装进系统。",
    ),
    "warn-system-library": (
        "The wheel brings {name} {bundled} and uses that; the system's {version} serves only what is compiled here. "
        "Keep it off LD_LIBRARY_PATH.",
        "wheel 自带 {name} {bundled} 并使用它；系统的 {version} 只用于在此编译的程序。不要把它放进 LD_LIBRARY_PATH。",
    ),
    "warn-library-build": (
        "Which builds of {name} {version} the repository has for CUDA {major} is not known; the newest of them is taken.",
        "尚不清楚软件源中有哪些用于 CUDA {major} 的 {name} {version} 构建；将采用其中最新的。",
    ),
    "warn-wsl": (
        "Windows needs its own driver: {floor} or newer. Install no Linux driver inside WSL: it would replace the "
        "libcuda that Windows provides.",
        "Windows 需要它自己的驱动：{floor} 或更新。不要在 WSL 里安装 Linux 驱动：它会替换 Windows 提供的 libcuda。",
    ),
    "glibc-unknown": (
        "whether {os} has glibc {needs}, which the wheel needs (say `glibc` under `target`)",
        "{os} 是否有 wheel 所需的 glibc {needs}（请在 `target` 下写明 `glibc`）",
    ),
    "warn-driver-there": (
        "The driver that the machine has must be {floor} or newer: name it (`version`, `keep: true`) and it is checked.",
        "机器上已有的驱动必须是 {floor} 或更新：写明它（`version`、`keep: true`）即可检查。",
    ),
    "warn-container": (
        "The host of the container needs driver {floor} or newer; none is installed in the image.",
        "容器的宿主机需要 {floor} 或更新的驱动；镜像中不安装驱动。",
    ),
    "warn-shared-name": (
        "Other chips are sold as {card} too ({others}); this plan is for {sm}. Say which with its capability or PCI "
        "id.",
        "还有其他芯片也以 {card} 之名出售（{others}）；此方案针对 {sm}。请用计算能力或 PCI id 写明。",
    ),
    "warn-no-gpu-named": (
        "No GPU is named, so nothing was checked against one: name yours under `gpus`.",
        "没有写明 GPU，因此没有对照任何 GPU 检查：请在 `gpus` 中写上你的 GPU。",
    ),
    "warn-unchecked": (
        "{package} is not in the catalogue: it is installed as written, unchecked.",
        "{package} 不在目录中：按原样安装，未经检查。",
    ),
    "warn-wide": (
        "{package} {version} was built for torch {pair}; its metadata allows {torch} too.",
        "{package} {version} 是为 torch {pair} 构建的；其元数据也允许 {torch}。",
    ),
    "warn-source": (
        "{package} {version} is compiled at installation: that takes the toolkit, gcc, memory and time.",
        "{package} {version} 在安装时编译：需要工具包、gcc、内存和时间。",
    ),
    "warn-release-page": (
        "{package}'s ready wheel lies on its release page, not on the package index.",
        "{package} 的现成 wheel 在它的发布页上，不在软件包索引上。",
    ),
    "warn-foreign-index": (
        "Whether {package} {version} is there for {place} was not checked.",
        "{package} {version} 在 {place} 上是否存在未经检查。",
    ),
    "warn-secure-boot": (
        "Secure Boot is on: the kernel module has to be signed, and its key enrolled at the console at the next boot.",
        "已启用安全启动：内核模块必须签名，并在下次启动时在控制台登记密钥。",
    ),
    "warn-system-ended": ("{os} reached its end of life {end}.", "{os} 已于 {end} 结束支持。"),
    "warn-kernel": (
        "Driver {driver} is known to build on kernels up to {last}; this machine has {kernel}.",
        "已知驱动 {driver} 只能在 {last} 及以下内核上构建；这台机器是 {kernel}。",
    ),
    "warn-driver-ignored": ("There is no GPU, so `driver` has no effect.", "没有 GPU，因此 `driver` 不起作用。"),
    "warn-python-source": (
        "Python {python} is not packaged for {os}; it comes from {source}.",
        "{os} 没有打包 Python {python}；它来自 {source}。",
    ),
    "warn-flavour-free": (
        "No GPU is named: the open kernel modules serve Turing and newer only.",
        "没有写明 GPU：开放内核模块只支持 Turing 及更新的 GPU。",
    ),
    "warn-jetpack": (
        "The driver is part of JetPack {jetpack} (L4T {l4t}); install no other.",
        "驱动是 JetPack {jetpack}（L4T {l4t}）的一部分；不要安装别的。",
    ),
    "warn-cuda-windows-nccl": (
        "NCCL does not exist on Windows: distributed training uses gloo.",
        "Windows 上没有 NCCL：分布式训练使用 gloo。",
    ),
    # -- origins, differences
    "vendor": ("NVIDIA's repository", "NVIDIA 软件源"),
    "distro": ("the distribution", "发行版"),
    "runfile": ("NVIDIA's run file", "NVIDIA run 文件"),
    "any-origin": ("no source", "任何来源都"),
    "diff-changed": ("{choice} goes from {from} to {to}", "{choice} 从 {from} 变为 {to}"),
    "diff-added": ("{choice} is new: {to}", "新增 {choice}：{to}"),
    "diff-removed": ("{choice} is gone (was {from})", "去掉了 {choice}（原为 {from}）"),
    "diff-spec": (
        "because `{field}` of the spec changed from {from} to {to}",
        "因为规格中的 `{field}` 从 {from} 改为 {to}",
    ),
    "diff-catalog": ("because the catalogue changed from {from} to {to}: {why}", "因为目录从 {from} 变为 {to}：{why}"),
    "diff-why": ("now: {why}", "现在：{why}"),
}


def say(lang: str, key: str, **values: object) -> str:
    """One sentence, filled in."""
    english, chinese = WORDS[key]
    text = chinese if lang == "zh" else english
    return text.format(**values) if values else text
