#!/usr/bin/env bash
# Install script for box, made by provision 0.1.0
# system:    debian12 x86_64
# torch:     2.7.1+cpu   driver: none
# spec:      sha256:1111111111111111111111111111111111111111111111111111111111111111
# catalogue: 2026.11.30 sha256:0000000000000000000000000000000000000000000000000000000000000000
#
# Each step looks first whether it is needed, so the script may be run again at any time. Run it as root.
# It leaves with 0 when all is done, 2 for a wrong call or machine, 4 when a step failed, 6 when the machine has to be rebooted
# and the same command run again.
#
# shellcheck disable=SC2016 # values are single-quoted so that nothing in them is expanded: that is the point
set -Eeuo pipefail
export LC_ALL=C.UTF-8

SYSTEM=debian12
ARCH=x86_64
if [ "$(id -u)" = 0 ]; then
  STATE=${PROVISION_STATE_DIR:-/var/lib/provision}
else # for a plan that needs no root, such as wheels alone in a folder of one's own
  STATE=${PROVISION_STATE_DIR:-${XDG_STATE_HOME:-$HOME/.local/state}/provision}
fi
DRY_RUN=0
UNDO=0
ONLY=''
SKIP=''
CHANGED=0

STEPS=(
  check-system
  install-prerequisites
  create-python-environment
  install-wheels
  verify
)

title() {
  case $1 in
    check-system) printf '%s' 'Check that this is Debian 12 on x86_64' ;;
    install-prerequisites) printf '%s' 'Install what the steps below need: python3-venv' ;;
    create-python-environment) printf '%s' 'Create a Python 3.11 environment at /opt/torch (pip)' ;;
    install-wheels) printf '%s' 'Install torch==2.7.1+cpu' ;;
    verify) printf '%s' 'Verify: torch computes, and its numbers are right' ;;
  esac
}

usage() {
  cat <<'USAGE'
usage: bash install.sh [--dry-run] [--undo] [--reboot] [--list] [--only STEP] [--skip STEP]...
  --dry-run     say what would be done; change nothing
  --undo        take back what this script did, last step first
  --reboot      reboot when it is needed, instead of leaving with status 6
  --list        print the steps
  --only STEP   do this step alone
  --skip STEP   leave this step out
variables, for mirrors and images:
  PROVISION_CUDA_REPO_BASE        another base address for NVIDIA's repositories (a mirror)
  PROVISION_CUDA_KEY_FINGERPRINT  the 40-digit fingerprint of the mirror's own signing key
  PROVISION_INDEX_URL             another index of wheels
  PROVISION_STATE_DIR             where to note what was done (default /var/lib/provision; for others than root, in the home)
  PROVISION_ASSUME_REBOOTED=1     in an image that is being built: do not ask for the loaded kernel module
USAGE
}

say() { printf '%s\n' "$*"; }
note() { printf '  %s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$1" >&2
  [ -z "${2:-}" ] || printf '  to do: %s\n' "$2" >&2
  exit "${3:-4}"
}

stopped() { # STATUS: a command failed that nobody asked about; what failed has said why above
  [ "$BASH_SUBSHELL" = 0 ] || exit "$1"
  fail "stopped with status $1 in: $(title "${step:-}")" "read the message above; the script may be run again, it goes on where it stopped"
}
trap 'stopped $?' ERR

# What was there before is kept below $STATE, so that --undo puts back exactly that.
remember() { # STEP KEY LINE...: note lines for the undo of a step
  local step=$1 key=$2
  shift 2
  mkdir -p "$STATE/$step"
  printf '%s\n' "$@" >>"$STATE/$step/$key"
}
recall() { # STEP KEY: the noted lines, newest first
  [ ! -f "$STATE/$1/$2" ] || tac "$STATE/$1/$2"
}
put_file() { # STEP PATH: write standard input to PATH, keeping what was there
  local step=$1 path=$2 new
  mkdir -p "$STATE/$step" "$(dirname "$path")"
  new=$(mktemp "$(dirname "$path")/.provision.XXXXXX")
  cat >"$new"
  if [ -e "$path" ] && ! grep -qxF -- "$path" "$STATE/$step/files" 2>/dev/null; then
    mkdir -p "$STATE/$step/kept$(dirname "$path")"
    cp -a -- "$path" "$STATE/$step/kept$path"
  fi
  grep -qxF -- "$path" "$STATE/$step/files" 2>/dev/null || remember "$step" files "$path"
  chmod 0644 "$new"
  mv -f -- "$new" "$path"
}
same_file() { # PATH: whether PATH holds exactly standard input
  [ -f "$1" ] && cmp -s - "$1"
}
undo_files() { # STEP: put back or remove the files that a step wrote
  local path
  while IFS= read -r path; do
    if [ -e "$STATE/$1/kept$path" ]; then
      mv -f -- "$STATE/$1/kept$path" "$path"
      note "put back $path"
    else
      rm -f -- "$path"
      note "removed $path"
    fi
  done < <(recall "$1" files)
}
fetch() { # URL PATH: download, over https unless the address was given by the user
  command -v curl >/dev/null 2>&1 || fail "curl is not installed" "install it, then run this again"
  case $1 in
    https://*) curl --fail --silent --show-error --location --proto '=https' --retry 3 --connect-timeout 20 --output "$2" -- "$1" ;;
    *) curl --fail --silent --show-error --location --retry 3 --connect-timeout 20 --output "$2" -- "$1" ;;
  esac || fail "cannot download $1" "look at the network, the proxy (https_proxy) and the address; nothing was changed by this step"
}
fingerprints() { # FILE: the fingerprints of the primary keys in a key file
  gpg --batch --no-options --homedir "$GNUPG" --show-keys --with-colons -- "$1" 2>/dev/null |
    awk -F: '$1 == "pub" { primary = 1 } $1 == "fpr" && primary { print $10; primary = 0 }'
}
check_fingerprint() { # FILE WANTED: fail unless the file holds that key and no other
  local found
  command -v gpg >/dev/null 2>&1 || fail "gpg is not installed, so no key can be checked" "install gnupg, then run this again"
  GNUPG=$(mktemp -d)
  found=$(fingerprints "$1" | sort -u)
  rm -rf -- "$GNUPG"
  [ "$found" = "$2" ] || fail "the repository's key has the fingerprint ${found:-(none)}, expected $2" \
    "do not trust this repository; nothing was installed from it. A mirror with a key of its own needs PROVISION_CUDA_KEY_FINGERPRINT"
}

# -- packages by apt
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a
APT=(apt-get -y -o DPkg::Lock::Timeout=600 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold)
installed_version() { # PACKAGE: its version when it is installed
  dpkg-query -W -f='${db:Status-Abbrev}|${Version}\n' -- "$1" 2>/dev/null | sed -n 's/^.i |//p' | head -n 1
}
has_package() { # PACKAGE [VERSION]: installed, in that upstream version; one that ends in a dot stands for all that begin so
  local found
  found=$(installed_version "$1")
  [ -n "$found" ] || return 1
  case ${2:-} in
    '') ;;
    *.) case ${found#*:} in "$2"*) ;; *) return 1 ;; esac ;;
    *) case ${found#*:} in "$2" | "$2"-* | "$2"+* | "$2"~*) ;; *) return 1 ;; esac ;;
  esac
}
list_installed() { dpkg-query -W -f='${db:Status-Abbrev} ${binary:Package}\n' | sed -n 's/^.i  *//p' | sort; }
install_packages() { # STEP PACKAGE VERSION [PACKAGE VERSION]...: install, noting what was not there before
  local step=$1 before words=() name version
  shift
  while [ $# -gt 0 ]; do
    name=$1 version=$2
    words+=("$name${version:+=$version*}")
    shift 2
  done
  before=$(mktemp)
  list_installed >"$before"
  # A version is given up to its packaging revision: 580.126.09 stands for 580.126.09-1 and 580.126.09-0ubuntu1.
  if ! "${APT[@]}" install --no-install-recommends --allow-downgrades -- "${words[@]}"; then
    rm -f -- "$before"
    fail "apt cannot install ${words[*]}" "read apt's message above; 'apt-cache policy NAME' shows which versions the repositories hold"
  fi
  note_new "$step" "$before"
}
note_new() { # STEP FILE: note the packages that are installed now and were not in FILE
  local new
  mapfile -t new < <(comm -13 "$2" <(list_installed))
  rm -f -- "$2"
  if [ "${#new[@]}" -gt 0 ]; then remember "$1" packages "${new[@]}"; fi
  mkdir -p "$STATE/$1"
}
undo_packages() { # STEP: remove what it installed
  local gone=() name
  while IFS= read -r name; do
    if has_package "$name"; then gone+=("$name"); fi
  done < <(recall "$1" packages)
  if [ "${#gone[@]}" -gt 0 ]; then
    "${APT[@]}" purge --allow-change-held-packages -- "${gone[@]}"
    note "removed ${gone[*]}"
  fi
}
refresh_packages() { "${APT[@]}" update -q || fail "apt-get update failed" "read apt's message above: a wrong key, a wrong address or no network"; }
parts_of() { :; } # the pin holds the parts; the hold names what was asked for
hold_packages() { # STEP NAME...
  shift
  apt-mark hold "$@" >/dev/null
}
release_packages() { apt-mark unhold "$@" >/dev/null 2>&1 || true; }
are_held() {
  local held name
  held=$(apt-mark showhold)
  for name in "$@"; do grep -qxF -- "$name" <<<"$held" || return 1; done
}

# -- check-system: Check that this is Debian 12 on x86_64
check_check_system() {
  local id='' version=''
  if [ -r /etc/os-release ]; then
    # shellcheck source=/dev/null
    id=$(. /etc/os-release && printf '%s' "${ID:-}")
    # shellcheck source=/dev/null
    version=$(. /etc/os-release && printf '%s' "${VERSION_ID:-}")
  fi
  local found=$id${version%%.*} exact=$id${version//./} like
  # rocky, almalinux, ol and centos follow rhel; opensuse-leap is the opensuse folder, sles the sles one
  case $id in
    rocky | almalinux | ol | centos) like=rhel${version%%.*} ;;
    opensuse-leap | opensuse) like=opensuse${version%%.*} ;;
    amzn | fedora | debian | rhel | sles) like=$found ;;
    azurelinux) like=azl${version%%.*} ;;
    kylin) like=kylin${version#[Vv]} ;; # VERSION_ID is V10 or V11
    *) like=$exact ;;
  esac
  case "$SYSTEM" in
    "$like" | "$exact" | "$found") ;;
    suse16) case $like in sles16 | opensuse16) ;; *) fail "this script is for $SYSTEM, this is $id $version" "plan and render for this system" 2 ;; esac ;;
    arch) [ "$id" = arch ] || fail "this script is for $SYSTEM, this is $id $version" "plan and render for this system" 2 ;;
    *) fail "this script is for $SYSTEM, this is $id $version" "plan and render for this system" 2 ;;
  esac
  [ "$(uname -m)" = "$ARCH" ] || fail "this script is for $ARCH, this machine is $(uname -m)" "plan for this machine" 2
}
do_check_system() { :; }
undo_check_system() { :; }

# -- install-prerequisites: Install what the steps below need: python3-venv
prerequisites() { # one a line; the running kernel's headers are named by it
  printf '%s\n' python3-venv
}
is_there() { # PACKAGE: installed, or another package brings its program (curl-minimal)
  has_package "$1" && return 0
  case $1 in
    curl) command -v curl >/dev/null 2>&1 ;;
    gnupg | gnupg2 | gpg2) command -v gpg >/dev/null 2>&1 ;;
    *) return 1 ;;
  esac
}
wants_headers() { # the headers of a kernel that runs outside a container or an image cannot be installed inside it
  case $1 in *"$(uname -r)"*) [ -d "/lib/modules/$(uname -r)" ] ;; esac
}
check_install_prerequisites() {
  local name
  while IFS= read -r name; do
    wants_headers "$name" || continue
    is_there "$name" || return 1
  done < <(prerequisites)
}
do_install_prerequisites() {
  local name wanted=()
  while IFS= read -r name; do
    if ! wants_headers "$name"; then
      note "left out $name: that kernel is not installed here (an image?)"
    elif ! is_there "$name"; then
      wanted+=("$name" '')
    fi
  done < <(prerequisites)
  refresh_packages
  install_packages install-prerequisites "${wanted[@]}"
}
undo_install_prerequisites() { undo_packages install-prerequisites; }

# -- create-python-environment: Create a Python 3.11 environment at /opt/torch (pip)
ENVIRONMENT=/opt/torch
case $ENVIRONMENT in [~]) ENVIRONMENT=$HOME ;; [~]/*) ENVIRONMENT=$HOME/${ENVIRONMENT:2} ;; esac
PYTHON_VERSION=3.11
python_of_environment() { "$ENVIRONMENT/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }
check_create_python_environment() { [ "$(python_of_environment || true)" = "$PYTHON_VERSION" ]; }
can_write() { # PATH: whether the folder can be made
  local path=$1
  while [ ! -e "$path" ]; do path=$(dirname "$path"); done
  [ -w "$path" ]
}
do_create_python_environment() {
  can_write "$ENVIRONMENT" || fail "$ENVIRONMENT cannot be written" "run this as root, or name a folder of yours with 'environment' in the spec" 2
  # What an interrupted run of this script left there may go; anything else may not.
  if [ -e "$ENVIRONMENT" ] && [ -z "$(python_of_environment || true)" ] && recall create-python-environment made | grep -qxF -- "$ENVIRONMENT"; then
    rm -rf -- "$ENVIRONMENT"
  fi
  if [ -e "$ENVIRONMENT" ] && [ -n "$(ls -A -- "$ENVIRONMENT")" ]; then
    fail "$ENVIRONMENT is already there and is no Python $PYTHON_VERSION environment" "move it away, or name another folder with 'environment' in the spec"
  fi
  remember create-python-environment made "$ENVIRONMENT"
  local python=python$PYTHON_VERSION
  command -v "$python" >/dev/null 2>&1 || fail "$python is not installed" "install it, or let 'python' in the spec name another version"
  "$python" -m venv -- "$ENVIRONMENT" || fail "$python cannot make an environment" "its venv package is missing"
}
undo_create_python_environment() {
  local path
  rm -rf -- "$STATE/uv"
  while IFS= read -r path; do
    case $path in '' | / | /usr | /opt | /home | "$HOME") ;; *) rm -rf -- "$path" && note "removed $path" ;; esac
  done < <(recall create-python-environment made)
}

# -- install-wheels: Install torch==2.7.1+cpu
WANTED=(torch==2.7.1+cpu )
PLAIN=()
INDEX_URL=${PROVISION_INDEX_URL:-https://download.pytorch.org/whl/cpu}
NOTED=$ENVIRONMENT/.provision-requirements
is_noted() { grep -qxF -- "$1" "$NOTED" 2>/dev/null; }
check_install_wheels() {
  local each
  [ -x "$ENVIRONMENT/bin/python" ] || return 1
  for each in "${WANTED[@]}" ${PLAIN[@]+"${PLAIN[@]}"}; do
    case $each in
      *' @ '* | *\;*) is_noted "$each" || return 1 && continue ;; # an address, or a condition
      *==*) ;;
      *) is_noted "$each" || return 1 && continue ;; # a range: what it gave last time stays
    esac
    "$ENVIRONMENT/bin/python" - "$each" <<'PY' || return 1
import sys
try:
    from importlib.metadata import PackageNotFoundError, version
except ImportError:  # Python 3.7
    sys.exit(1)
name, wanted = sys.argv[1].split("==", 1)
try:
    found = version(name)
except PackageNotFoundError:
    sys.exit(1)
sys.exit(found != wanted and ("+" in wanted or found.split("+")[0] != wanted))  # +cpu is not +cu128
PY
  done
}
do_install_wheels() {
  local index=()
  # The one index, not one more: two indexes at once mix builds of different CUDA versions.
  if [ -n "$INDEX_URL" ]; then index=(--index-url "$INDEX_URL"); fi
  local pip=("$ENVIRONMENT/bin/python" -m pip install --disable-pip-version-check)
  "${pip[@]}" ${index[@]+"${index[@]}"} -- "${WANTED[@]}" || fail "the wheels cannot be installed" "read the message above, and give it to 'provision explain'"
  printf '%s\n' "${WANTED[@]}" ${PLAIN[@]+"${PLAIN[@]}"} >"$NOTED"
}
undo_install_wheels() { :; } # the environment goes as a whole, with the step before

# -- verify: Verify: torch computes, and its numbers are right
check_verify() { return 1; } # it changes nothing, so it runs each time
do_verify() {
  "$ENVIRONMENT/bin/python" - 2.7.1+cpu '' <<'CHECK' || exit 4
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
CHECK
}
undo_verify() { :; }

needs_root() {
  case $1 in
    install-prerequisites) return 0 ;;
  esac
  return 1
}

while [ $# -gt 0 ]; do
  case $1 in
    --dry-run) DRY_RUN=1 ;;
    --undo) UNDO=1 ;;
    --reboot) ;; # nothing here needs one
    --list)
      for step in "${STEPS[@]}"; do printf '%-28s %s\n' "$step" "$(title "$step")"; done
      exit 0
      ;;
    --only | --skip)
      [ $# -gt 1 ] || fail "$1 needs the name of a step" "--list prints them" 2
      [ -n "$(title "$2")" ] || fail "there is no step $2" "--list prints them" 2
      if [ "$1" = --only ]; then ONLY="$ONLY $2 "; else SKIP="$SKIP $2 "; fi
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      fail "unknown argument $1" "" 2
      ;;
  esac
  shift
done

wanted() {
  [ -z "$ONLY" ] || [ "${ONLY/ $1 /}" != "$ONLY" ] || return 1
  [ "${SKIP/ $1 /}" = "$SKIP" ]
}

if [ "$UNDO" = 1 ]; then
  for ((number = ${#STEPS[@]} - 1; number >= 0; number--)); do
    step=${STEPS[number]}
    wanted "$step" || continue
    [ -d "$STATE/$step" ] || continue
    if [ "$DRY_RUN" = 1 ]; then
      say "would undo: $(title "$step")"
      continue
    fi
    say "undo: $(title "$step")"
    "undo_${step//-/_}"
    rm -rf -- "${STATE:?}/$step"
  done
  [ "$DRY_RUN" = 1 ] || rmdir -- "$STATE" 2>/dev/null || true
  say "done: what this script installed is gone"
  exit 0
fi

total=${#STEPS[@]}
number=0
for step in "${STEPS[@]}"; do
  number=$((number + 1))
  wanted "$step" || continue
  if "check_${step//-/_}"; then
    say "[$number/$total] already done: $(title "$step")"
    continue
  fi
  if [ "$DRY_RUN" = 1 ]; then
    say "[$number/$total] would do: $(title "$step")"
    continue
  fi
  if needs_root "$step" && [ "$(id -u)" != 0 ]; then
    fail "this step needs root: $(title "$step")" "run the same command as root, for instance with sudo" 2
  fi
  say "[$number/$total] $(title "$step")"
  "do_${step//-/_}"
  [ "$step" = verify ] || CHANGED=1
done
if [ "$DRY_RUN" = 1 ]; then
  say "nothing was changed (--dry-run)"
elif [ "$CHANGED" = 1 ]; then
  say "done"
else
  say "done: nothing had to be changed"
fi
