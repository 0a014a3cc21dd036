# The short check at the end of an installation: standard library and torch only. `provision verify` knows more.
# Arguments: torch version, CUDA version ("" = CPU build), then the wanted capabilities (sm_89). Status 0 or 4.
import sys


def main(wanted, cuda, gpus):
    try:
        import torch
    except Exception as fault:
        return "torch cannot be imported: %s: %s" % (type(fault).__name__, fault)
    found = torch.__version__
    if found.split("+")[0] != wanted.split("+")[0]:
        return "torch is %s, the plan says %s" % (found, wanted)
    if (torch.version.cuda or "") != cuda:
        return "torch was built for CUDA %s, the plan says %s" % (torch.version.cuda or "none", cuda or "none")
    torch.manual_seed(0)
    a, b = torch.randn(128, 96), torch.randn(96, 64)
    right = a.double() @ b.double()
    if ((a @ b).double() - right).abs().max().item() > 1e-3:
        return "a matrix product on the CPU is wrong"
    if not cuda:
        print("torch %s computes on the CPU" % found)
        return ""
    if not torch.cuda.is_available():
        return "torch.cuda.is_available() is False: `provision doctor` says why"
    seen = []
    for index in range(torch.cuda.device_count()):
        name, sm = torch.cuda.get_device_name(index), "sm_%d%d" % torch.cuda.get_device_capability(index)
        seen.append(sm)
        off = ((a.to("cuda:%d" % index) @ b.to("cuda:%d" % index)).double().cpu() - right).abs().max().item()
        if off > 1e-2:
            return "a matrix product on %s is off by %g" % (name, off)
        print("%s (%s) computes, off by %.1e at most" % (name, sm, off))
    missing = [sm for sm in gpus if sm not in seen]
    if missing:
        return "the plan names %s, torch sees %s" % (", ".join(missing), ", ".join(seen) or "none")
    return ""


wrong = main(sys.argv[1], sys.argv[2], sys.argv[3:])
if wrong:
    print("verify: " + wrong, file=sys.stderr)
    sys.exit(4)
