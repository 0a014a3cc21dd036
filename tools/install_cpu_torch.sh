#!/bin/sh
# Install the CPU build of torch into an environment: install_cpu_torch.sh PYTHON REQUIREMENT INDEX_URL
# On Linux the package index's own torch is a CUDA build of several gigabytes, so it is taken only when pip says beforehand
# that the file it would fetch has no CUDA requirements. Without a CPU wheel nothing is installed, the tests that need torch
# say so and are skipped.
set -eu
python=$1 requirement=$2 index=$3
if "$python" -c 'import torch' 2>/dev/null; then
    exit 0
fi
if "$python" -m pip install --quiet --disable-pip-version-check --timeout 20 --retries 1 --index-url "$index" "$requirement" 2>/dev/null; then
    exit 0
fi
report=$(mktemp)
trap 'rm -f "$report"' EXIT
if "$python" -m pip install --quiet --disable-pip-version-check --dry-run --ignore-installed --report "$report" "$requirement" >/dev/null 2>&1 &&
    "$python" - "$report" <<'PY'
import json, sys
names = [item["metadata"]["name"].lower() for item in json.load(open(sys.argv[1]))["install"]]
sys.exit(any(name.startswith(("nvidia-", "cuda-", "triton")) for name in names))
PY
then
    exec "$python" -m pip install --quiet --disable-pip-version-check "$requirement"
fi
echo "note: no CPU build of $requirement can be had here; the tests marked 'torch' will be skipped" >&2
