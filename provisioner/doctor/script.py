"""The classic traps of training code, found in its syntax tree; nothing is executed.

Only what can be seen for certain in one file is told. A trap's texts are in `script.yaml`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from provisioner.doctor.clean import Line
from provisioner.doctor.engine import Finding, Fix, Report
from provisioner.doctor.rule import HERE

_EVALUATES = re.compile(r"^_?(?:eval|evaluate|validate|validation|val|test|predict|infer|inference)(?:_|$|one|epoch|loop|step|model)",
                        re.IGNORECASE)
_MODEL = re.compile(r"(?:\w*_)?(?:model|net|network)")
_SYNCS = frozenset(("item", "cpu", "numpy", "tolist"))
_MAKES = frozenset(("zeros", "ones", "rand", "randn", "full", "empty", "arange", "linspace", "tensor", "eye"))
_GRADLESS = frozenset(("no_grad", "inference_mode", "set_grad_enabled"))


class Hit(NamedTuple):
    """A trap at a line."""

    code: str
    line: int


def dotted(node: ast.AST) -> str:
    """`torch.cuda.amp.autocast` of an attribute chain; "" when it is something else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
        return ".".join(reversed(parts))
    return "." + ".".join(reversed(parts)) if parts else ""


def last(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""


def calls(node: ast.AST) -> Iterator[ast.Call]:
    """All calls below a node."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            yield each


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument."""
    return next((each.value for each in call.keywords if each.arg == name), None)


def find(tree: ast.Module) -> list[Hit]:
    """Every trap in a module, in line order."""
    file = _File(tree)
    hits: set[Hit] = set()
    for check in (_loops, _evaluations, _loaders, _names, _masks, _datasets, _forwards, _ranks):
        hits.update(check(file))
    return sorted(hits, key=lambda hit: (hit.line, hit.code))


class _File:
    """A module with what several checks ask for."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.calls = list(calls(tree))
        self.called = {last(call) for call in self.calls}
        self.chains = {dotted(call.func) for call in self.calls}
        self.full: dict[str, str] = {}  # local name -> what was imported under it
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for each in node.names:
                    self.full[each.asname or each.name.split(".")[0]] = each.name if each.asname else each.name.split(".")[0]
            elif isinstance(node, ast.ImportFrom) and node.module:
                for each in node.names:
                    self.full[each.asname or each.name] = f"{node.module}.{each.name}"
        self.uses_gpu = any(last(call) == "cuda" or (last(call) == "to" and call.args) for call in self.calls)
        self.parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def name(self, node: ast.AST) -> str:
        """The dotted name with its import resolved: `autocast` -> `torch.cuda.amp.autocast`."""
        text = dotted(node)
        head, _, rest = text.partition(".")
        if head in self.full:
            return self.full[head] + (f".{rest}" if rest else "")
        return text

    def guarded(self, node: ast.AST, loop: ast.AST) -> bool:
        """Whether a node lies under an `if` with a modulo (every N steps), a rank check or a debug flag, inside a loop."""
        while node is not loop and node in self.parents:
            above = self.parents[node]
            if isinstance(above, ast.If) and node is not above.test:
                return True
            node = above
        return False


def _training(file: _File) -> list[ast.For | ast.While]:
    """Innermost loops that call backward()."""
    found = []
    for node in ast.walk(file.tree):
        if isinstance(node, (ast.For, ast.While)) and any(last(call) == "backward" for call in calls(node)):
            inner = [each for each in ast.walk(node) if each is not node and isinstance(each, (ast.For, ast.While))
                     and any(last(call) == "backward" for call in calls(each))]
            if not inner:
                found.append(node)
    return found


def _loops(file: _File) -> Iterator[Hit]:
    for loop in _training(file):
        names = [last(call) for call in calls(loop)]
        if "step" in names and not {"zero_grad"} & file.called and not _sets_grad_none(file.tree):
            yield Hit("code-gradients-never-zeroed", next(call.lineno for call in calls(loop) if last(call) == "backward"))
        losses = {call.func.value.id for call in calls(loop) if last(call) == "backward" and isinstance(call.func, ast.Attribute)
                  and isinstance(call.func.value, ast.Name)}
        for node in ast.walk(loop):
            if isinstance(node, ast.Call):
                text = file.name(node.func)
                if text.endswith("cuda.empty_cache") and not file.guarded(node, loop):
                    yield Hit("code-empty-cache-in-loop", node.lineno)
                if last(node) in _SYNCS and isinstance(node.func, ast.Attribute) and not node.args and not file.guarded(node, loop) \
                        and _tensor_like(node.func.value, losses):
                    yield Hit("code-sync-in-loop", node.lineno)
                if text == "print" and not file.guarded(node, loop) and any(
                        isinstance(arg, ast.Name) and arg.id in losses for arg in node.args):
                    yield Hit("code-sync-in-loop", node.lineno)
                if last(node) == "append" and node.args and isinstance(node.args[0], ast.Name) and node.args[0].id in losses:
                    yield Hit("code-loss-keeps-graph", node.lineno)
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.value, ast.Name) \
                    and node.value.id in losses and not (isinstance(node.target, ast.Name) and node.target.id in losses):
                yield Hit("code-loss-keeps-graph", node.lineno)


def _sets_grad_none(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.Assign) and any(isinstance(target, ast.Attribute) and target.attr == "grad" for target in node.targets)
               for node in ast.walk(tree))


def _tensor_like(node: ast.AST, losses: set[str]) -> bool:
    """Whether a value is one of the losses, or made from one."""
    return any(isinstance(each, ast.Name) and (each.id in losses or each.id in ("loss", "outputs", "output", "logits", "preds", "pred"))
               for each in ast.walk(node))


def _evaluations(file: _File) -> Iterator[Hit]:
    for function in ast.walk(file.tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or not _EVALUATES.match(function.name):
            continue
        if function.name.endswith(("_dataloader", "_loader", "_dataset", "_step")) \
                or any(last(call) == "backward" for call in calls(function)):
            continue
        model_calls = [call for call in calls(function) if dotted(call.func) in ("self.model", "self.net")
                       or (isinstance(call.func, ast.Name) and _MODEL.fullmatch(call.func.id))]
        if not model_calls:
            continue
        decorators = [each.func if isinstance(each, ast.Call) else each for each in function.decorator_list]
        decorated = any(dotted(each).split(".")[-1] in _GRADLESS for each in decorators)
        within = any(isinstance(node, ast.With) and any(isinstance(item.context_expr, ast.Call)
                                                        and last(item.context_expr) in _GRADLESS for item in node.items)
                     for node in ast.walk(function))
        around = any(call for call in file.calls if last(call) == function.name and _under_gradless(file, call))
        if not (decorated or within or around):
            yield Hit("code-missing-no-grad", model_calls[0].lineno)
        if "eval" not in file.called and not any(last(call) == "train" and call.args and isinstance(call.args[0], ast.Constant)
                                                 and call.args[0].value is False for call in file.calls):
            yield Hit("code-missing-eval", function.lineno)


def _under_gradless(file: _File, node: ast.AST) -> bool:
    while node in file.parents:
        node = file.parents[node]
        if isinstance(node, ast.With) and any(isinstance(item.context_expr, ast.Call) and last(item.context_expr) in _GRADLESS
                                              for item in node.items):
            return True
    return False


def _loaders(file: _File) -> Iterator[Hit]:
    for call in file.calls:
        if not file.name(call.func).endswith("DataLoader") or any(each.arg is None for each in call.keywords):
            continue
        workers, pinned = keyword(call, "num_workers"), keyword(call, "pin_memory")
        if file.name(call.func).startswith(("torch_geometric", "dgl")):
            continue
        if workers is None or (isinstance(workers, ast.Constant) and workers.value == 0):
            yield Hit("dataloader-bound", call.lineno)
        elif pinned is None and file.uses_gpu:
            yield Hit("code-no-pin-memory", call.lineno)
    samplers = [call for call in file.calls if last(call) == "DistributedSampler"
                and not (isinstance(keyword(call, "shuffle"), ast.Constant) and keyword(call, "shuffle").value is False)]  # type: ignore[union-attr]
    if samplers and "set_epoch" not in file.called:
        yield Hit("code-missing-set-epoch", samplers[0].lineno)


def _names(file: _File) -> Iterator[Hit]:
    for call in file.calls:
        text = file.name(call.func)
        if text.endswith(("nn.DataParallel", "data_parallel.DataParallel")):
            yield Hit("code-data-parallel", call.lineno)
        elif text.startswith(("torch.cuda.amp.", "apex.amp")):
            yield Hit("code-old-amp", call.lineno)
        elif text.endswith("autograd.set_detect_anomaly") and (
                not call.args or not isinstance(call.args[0], ast.Constant) or call.args[0].value):
            yield Hit("code-detect-anomaly", call.lineno)
        elif last(call) == "add_argument" and any(
                isinstance(arg, ast.Constant) and arg.value in ("--local_rank", "--local-rank") for arg in call.args):
            yield Hit("code-old-launch", call.lineno)
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "torch.distributed.launch" in node.value \
                and not isinstance(file.parents.get(node), ast.Expr):
            yield Hit("code-old-launch", node.lineno)


def _masks(file: _File) -> Iterator[Hit]:
    """`os.environ["CUDA_VISIBLE_DEVICES"] = ...` below `import torch`, at module level or below a use of CUDA."""
    imported = [node.lineno for node in ast.walk(file.tree) if isinstance(node, (ast.Import, ast.ImportFrom))
                and any(name.split(".")[0] == "torch" for name in ([each.name for each in node.names] if isinstance(node, ast.Import)
                                                                  else [node.module or ""]))]
    used = [call.lineno for call in file.calls if file.name(call.func).startswith("torch.cuda.") or last(call) == "cuda"]
    if not imported:
        return
    for node in ast.walk(file.tree):
        line = 0
        if isinstance(node, ast.Assign):
            keys = [target.slice.value for target in node.targets
                    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant)]
            line = node.lineno if "CUDA_VISIBLE_DEVICES" in keys else 0
        elif isinstance(node, ast.Call) and dotted(node.func) in ("os.putenv", "os.environ.setdefault", "os.environ.update"):
            line = node.lineno if any(isinstance(arg, ast.Constant) and arg.value == "CUDA_VISIBLE_DEVICES" for arg in node.args) else 0
        if line and (line > min(imported) or (used and line > min(used))):
            yield Hit("visible-devices-mask", line)


def _datasets(file: _File) -> Iterator[Hit]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.FunctionDef) and node.name == "__getitem__":
            for call in calls(node):
                target = call.args[0] if call.args else keyword(call, "device")
                to_cuda = last(call) == "to" and isinstance(target, ast.Constant) and str(target.value).startswith("cuda")
                if (last(call) == "cuda" and isinstance(call.func, ast.Attribute)) or to_cuda:
                    yield Hit("fork-after-cuda-init", call.lineno)


def _forwards(file: _File) -> Iterator[Hit]:
    if not file.uses_gpu:
        return
    for node in ast.walk(file.tree):
        if not isinstance(node, ast.FunctionDef) or node.name != "forward":
            continue
        for call in calls(node):
            text = file.name(call.func)
            if text.startswith("torch.") and text.count(".") == 1 and last(call) in _MAKES and keyword(call, "device") is None:
                above = file.parents.get(call)
                moved = isinstance(above, ast.Attribute) and above.attr in ("to", "cuda", "type_as")
                if not moved:
                    yield Hit("device-mix", call.lineno)


def _ranks(file: _File) -> Iterator[Hit]:
    starts = [call for call in file.calls if last(call) == "init_process_group"]
    wraps = [call for call in file.calls if last(call) in ("DistributedDataParallel", "DDP")]
    if starts and wraps and "set_device" not in file.called and not any(keyword(call, "device_ids") for call in wraps) \
            and not any(keyword(call, "device_id") for call in starts):
        yield Hit("code-no-set-device", starts[0].lineno)


def check(source: str, name: str, lang: str = "en") -> Report:
    """A report on training code. `name`: its file, for the evidence. Code that Python cannot read gives no finding but an ask."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as fault:
        line = getattr(fault, "lineno", None)
        told = f"{name} is not Python that this interpreter can read" if lang == "en" else f"{name} 不是此解释器可读取的 Python 代码"
        return Report((), {}, (f"{told}{f' (line {line})' if line else ''}: {fault}",), "doctor")
    texts, lines = _texts(), source.splitlines()
    by_code: dict[str, list[int]] = {}
    for hit in find(tree):
        by_code.setdefault(hit.code, []).append(hit.line)
    findings = []
    weights = {"error": 90, "warning": 75, "info": 50}
    for code, places in by_code.items():
        about = texts[code]
        evidence = tuple(Line(name, number, lines[number - 1], " ".join(lines[number - 1].split())) for number in places[:6])
        fix = about["fix"]
        findings.append(Finding(code, about["title"][lang], about["severity"], "certain" if about["severity"] == "error" else "likely",
                                weights[about["severity"]], evidence, about["cause"][lang], (Fix(fix[lang], fix.get("run", "")),),
                                (), (), (), (), "stable"))
    findings.sort(key=lambda each: (-each.score, each.evidence[0].number))
    return Report(tuple(findings), {}, (), "doctor")


def _texts() -> dict[str, Any]:
    import yaml

    with open(f"{HERE}/script.yaml", encoding="utf-8") as stream:
        made: dict[str, Any] = yaml.load(stream, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return made
