#!/usr/bin/env bash
# Install script for box, made by provision 0.1.0
# system:    debian12 x86_64
# torch:     2.7.1+cu128   driver: 580.126.09
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
REBOOT=0
ONLY=''
SKIP=''
CHANGED=0

STEPS=(
  check-system
  install-prerequisites
  blacklist-nouveau
  install-driver-runfile
  add-repository
  keep-driver-out
  install-fabric-manager
  install-toolkit-runfile
  write-environment
  create-python-environment
  install-wheels
  reboot
  verify
)

title() {
  case $1 in
    check-system) printf '%s' 'Check that this is Debian 12 on x86_64' ;;
    install-prerequisites) printf '%s' 'Install what the steps below need: ca-certificates, curl, gnupg, kmod, python3-venv, linux-headers' ;;
    blacklist-nouveau) printf '%s' 'Keep nouveau from taking the GPU, and rebuild the initramfs' ;;
    install-driver-runfile) printf '%s' 'Install driver 580.126.09 from NVIDIA'"'"'s run file' ;;
    add-repository) printf '%s' 'Add NVIDIA'"'"'s repository https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64, its key checked by fingerprint' ;;
    keep-driver-out) printf '%s' 'Keep that repository from replacing the driver' ;;
    install-fabric-manager) printf '%s' 'Install and start Fabric Manager of exactly 580.126.09' ;;
    install-toolkit-runfile) printf '%s' 'Install CUDA toolkit 11.8.0 from NVIDIA'"'"'s run file, without its driver' ;;
    write-environment) printf '%s' 'Write environment variables to /etc/profile.d' ;;
    create-python-environment) printf '%s' 'Create a Python 3.11 environment at /opt/torch (pip)' ;;
    install-wheels) printf '%s' 'Install torch==2.7.1+cu128, torchvision==0.22.1+cu128' ;;
    reboot) printf '%s' 'Reboot, so that the new kernel module is the one loaded' ;;
    verify) printf '%s' 'Verify: a kernel runs and its numbers are right' ;;
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

# -- install-prerequisites: Install what the steps below need: ca-certificates, curl, gnupg, kmod, python3-venv, linux-headers
prerequisites() { # one a line; the running kernel's headers are named by it
  printf '%s\n' ca-certificates
  printf '%s\n' curl
  printf '%s\n' gnupg
  printf '%s\n' kmod
  printf '%s\n' python3-venv
  # shellcheck disable=SC2016
  printf '%s\n' 'linux-headers-$(uname -r)' | sed "s|\$(uname -r)|$(uname -r)|"
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

# -- blacklist-nouveau: Keep nouveau from taking the GPU, and rebuild the initramfs
nouveau_conf() {
  cat <<'CONF'
# written by provision: nouveau (and nova, its successor) would take the GPU before NVIDIA's module can
blacklist nouveau
blacklist nova_core
options nouveau modeset=0
CONF
}
INITRAMFS=update-initramfs
rebuild_initramfs() {
  [ "$INITRAMFS" != none ] || return 0
  # Both generators can be installed: the one that is active decides what boots.
  if command -v update-initramfs >/dev/null 2>&1 && ! { command -v dracut >/dev/null 2>&1 && [ "$INITRAMFS" = dracut ]; }; then
    update-initramfs -u -k all
  elif command -v dracut >/dev/null 2>&1; then
    dracut --force --regenerate-all
  elif command -v mkinitcpio >/dev/null 2>&1; then
    mkinitcpio -P
  else
    note "no initramfs generator here; nothing to rebuild"
  fi
}
check_blacklist_nouveau() { nouveau_conf | same_file /etc/modprobe.d/blacklist-nouveau.conf && [ ! -e "$STATE/blacklist-nouveau/pending" ]; }
do_blacklist_nouveau() {
  mkdir -p "$STATE/blacklist-nouveau"
  touch "$STATE/blacklist-nouveau/pending" # an interrupted rebuild is done again
  nouveau_conf | put_file blacklist-nouveau /etc/modprobe.d/blacklist-nouveau.conf
  rebuild_initramfs
  rm -f -- "$STATE/blacklist-nouveau/pending"
}
undo_blacklist_nouveau() {
  undo_files blacklist-nouveau
  rebuild_initramfs
}

# -- install-driver-runfile: Install driver 580.126.09 from NVIDIA's run file
DRIVER_VERSION=580.126.09
DRIVER_RUN=NVIDIA-Linux-x86_64-580.126.09.run
DRIVER_URL=https://us.download.nvidia.com/tesla/$DRIVER_VERSION/$DRIVER_RUN
check_install_driver_runfile() { command -v nvidia-smi >/dev/null 2>&1 && [ -e /usr/bin/nvidia-uninstall ] && strings -n 5 /usr/bin/nvidia-smi 2>/dev/null | grep -qF -- "$DRIVER_VERSION"; }
do_install_driver_runfile() {
  local work flags=(--silent --dkms --no-questions)
  work=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf -- '$work'" EXIT
  fetch "$DRIVER_URL" "$work/$DRIVER_RUN"
  flags+=(--kernel-module-type=open)
  # The run file checks its own checksum before it does anything.
  sh "$work/$DRIVER_RUN" --check || fail "$DRIVER_URL is damaged" "run this again"
  sh "$work/$DRIVER_RUN" "${flags[@]}" || fail "the run file failed" "read /var/log/nvidia-installer.log, and give it to 'provision explain'"
  mkdir -p "$STATE/install-driver-runfile"
  rm -rf -- "$work"
  trap - EXIT
}
undo_install_driver_runfile() { /usr/bin/nvidia-uninstall --silent; }

# -- add-repository: Add NVIDIA's repository https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64, its key checked by fingerprint
REPOSITORY=https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64
KEYRING_URL=https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb
KEYRING_SHA256=e7f2000000000000000000000000000000000000000000000000000000000000
if [ -n "${PROVISION_CUDA_REPO_BASE:-}" ]; then
  # A mirror: the same folders below another base. Its keyring package differs, so its checksum is not compared; its key is.
  case $REPOSITORY in
    https://developer.download.nvidia.com/compute/cuda/repos/*)
      REPOSITORY=${PROVISION_CUDA_REPO_BASE%/}/${REPOSITORY#https://developer.download.nvidia.com/compute/cuda/repos/}
      KEYRING_URL=${PROVISION_CUDA_REPO_BASE%/}/${KEYRING_URL#https://developer.download.nvidia.com/compute/cuda/repos/}
      KEYRING_SHA256=''
      ;;
  esac
fi
KEY_FINGERPRINT=${PROVISION_CUDA_KEY_FINGERPRINT:-EB693B3035CD5710E231E123A4B469963BF863CC}
KEYRING=/usr/share/keyrings/provision-nvidia-cuda.gpg
REPOSITORY_LIST=/etc/apt/sources.list.d/provision-nvidia-cuda.list
repository_line() { printf 'deb [signed-by=%s] %s/ /\n' "$KEYRING" "${REPOSITORY%/}"; }
check_add_repository() {
  [ -s "$KEYRING" ] && repository_line | same_file "$REPOSITORY_LIST" && [ ! -e "$STATE/add-repository/pending" ] &&
    compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null
}
do_add_repository() {
  local work found other
  [ -n "$KEY_FINGERPRINT" ] || fail "the fingerprint of this repository's key is not known" "set PROVISION_CUDA_KEY_FINGERPRINT to the one you trust" 2
  work=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf -- '$work'" EXIT
  mkdir -p "$STATE/add-repository"
  touch "$STATE/add-repository/pending"
  fetch "$KEYRING_URL" "$work/keyring.deb"
  if [ -n "$KEYRING_SHA256" ]; then
    found=$(sha256sum "$work/keyring.deb" | cut -d' ' -f1)
    [ "$found" = "$KEYRING_SHA256" ] || fail "$KEYRING_URL has the checksum $found, expected $KEYRING_SHA256" "do not trust it; nothing was changed"
  fi
  # The keyring package is unpacked, not installed: its pin (priority 600 for everything of NVIDIA's) is not wanted here.
  dpkg-deb -x "$work/keyring.deb" "$work/unpacked" || fail "$KEYRING_URL is not a Debian package"
  found=$(find "$work/unpacked/usr/share/keyrings" -name '*.gpg' -print -quit 2>/dev/null || true)
  [ -n "$found" ] || fail "$KEYRING_URL holds no keyring"
  check_fingerprint "$found" "$KEY_FINGERPRINT"
  # The same repository listed twice makes apt refuse both ("Conflicting values set for option Signed-By").
  for other in /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    if [ ! -e "$other" ] || [ "$other" = "$REPOSITORY_LIST" ]; then continue; fi
    if grep -qF -- "${REPOSITORY%/}/" "$other"; then
      mkdir -p "$STATE/add-repository/kept$(dirname "$other")"
      mv -- "$other" "$STATE/add-repository/kept$other"
      remember add-repository files "$other"
      note "set aside $other, which lists the same repository"
    fi
  done
  put_file add-repository "$KEYRING" <"$found"
  repository_line | put_file add-repository "$REPOSITORY_LIST"
  if ! "${APT[@]}" update -q -o APT::Update::Error-Mode=any; then
    undo_files add-repository
    rm -rf -- "${STATE:?}/add-repository"
    fail "apt refuses the repository $REPOSITORY" "read apt's message above; the repository was taken out again and nothing was installed"
  fi
  rm -f -- "$STATE/add-repository/pending"
  rm -rf -- "$work"
  trap - EXIT
}
undo_add_repository() {
  undo_files add-repository
  "${APT[@]}" update -q || true
}

# -- keep-driver-out: Keep that repository from replacing the driver
driver_barrier() {
  cat <<'PREFERENCES'
Explanation: written by provision: the toolkit's repository must not become the source of the driver
Package: nvidia-driver-* nvidia-dkms-* nvidia-kernel-* nvidia-utils-* nvidia-compute-utils-* nvidia-headless-* nvidia-firmware* nvidia-settings libnvidia-compute* libnvidia-gl* libnvidia-decode* libnvidia-encode* linux-modules-nvidia-* xserver-xorg-video-nvidia-* cuda-drivers* nvidia-open* nvidia-driver nvidia-driver-cuda
Pin: release l=NVIDIA CUDA
Pin-Priority: -1
PREFERENCES
}
check_keep_driver_out() { driver_barrier | same_file /etc/apt/preferences.d/provision-no-driver; }
do_keep_driver_out() { driver_barrier | put_file keep-driver-out /etc/apt/preferences.d/provision-no-driver; }
undo_keep_driver_out() { undo_files keep-driver-out; }

# -- install-fabric-manager: Install and start Fabric Manager of exactly 580.126.09
fabric_packages() { printf '%s\n' nvidia-fabricmanager 580.126.09 ; }
check_install_fabric_manager() {
  local name version
  while IFS= read -r name && IFS= read -r version; do has_package "$name" "$version" || return 1; done < <(fabric_packages)
  if [ -d /run/systemd/system ]; then systemctl is-enabled --quiet nvidia-fabricmanager; fi
}
do_install_fabric_manager() {
  local words
  mapfile -t words < <(fabric_packages)
  install_packages install-fabric-manager "${words[@]}"
  # It starts only beside a loaded driver of the same version, so before the reboot it is enabled and not started.
  if [ -d /run/systemd/system ]; then systemctl enable nvidia-fabricmanager; fi
}
undo_install_fabric_manager() {
  if [ -d /run/systemd/system ]; then systemctl disable --now nvidia-fabricmanager || true; fi
  undo_packages install-fabric-manager
}

# -- install-toolkit-runfile: Install CUDA toolkit 11.8.0 from NVIDIA's run file, without its driver
TOOLKIT_HOME=/usr/local/cuda-11.8
TOOLKIT_RUN=cuda_11.8.0_520.61.05_linux''.run
TOOLKIT_URL=https://developer.download.nvidia.com/compute/cuda/11.8.0/local_installers/$TOOLKIT_RUN
check_install_toolkit_runfile() { [ -x "$TOOLKIT_HOME/bin/nvcc" ]; }
do_install_toolkit_runfile() {
  local work
  work=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf -- '$work'" EXIT
  fetch "$TOOLKIT_URL" "$work/$TOOLKIT_RUN"
  sh "$work/$TOOLKIT_RUN" --check || fail "$TOOLKIT_URL is damaged" "run this again"
  # --toolkit alone: the driver inside the run file must not replace the one that is installed. --tmpdir: a log of another user
  # in the common folder makes the installer crash.
  sh "$work/$TOOLKIT_RUN" --silent --override --toolkit --toolkitpath="$TOOLKIT_HOME" --tmpdir="$work" || fail "the run file failed" "read /var/log/cuda-installer.log"
  mkdir -p "$STATE/install-toolkit-runfile"
  rm -rf -- "$work"
  trap - EXIT
}
undo_install_toolkit_runfile() { "$TOOLKIT_HOME/bin/cuda-uninstaller" --silent 2>/dev/null || rm -rf -- "${TOOLKIT_HOME:?}"; }

# -- write-environment: Write environment variables to /etc/profile.d
environment_file() {
  cat <<'PROFILE'
# written by provision
# torch's wheels bring their own CUDA libraries: LD_LIBRARY_PATH is left alone on purpose, because a system CUDA on it would be
# loaded in their place.
export CUDA_DEVICE_ORDER=PCI_BUS_ID
export CUDA_HOME=/usr/local/cuda-11.8
case ":$PATH:" in *":$CUDA_HOME/bin:"*) ;; *) export PATH="$CUDA_HOME/bin:$PATH" ;; esac
PROFILE
}
check_write_environment() { environment_file | same_file /etc/profile.d/provision-cuda.sh; }
do_write_environment() { environment_file | put_file write-environment /etc/profile.d/provision-cuda.sh; }
undo_write_environment() { undo_files write-environment; }

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

# -- install-wheels: Install torch==2.7.1+cu128, torchvision==0.22.1+cu128
WANTED=(torch==2.7.1+cu128 torchvision==0.22.1+cu128 )
PLAIN=()
INDEX_URL=${PROVISION_INDEX_URL:-https://download.pytorch.org/whl/cu128}
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

# -- reboot: Reboot, so that the new kernel module is the one loaded
DRIVER_WANTED=580.126.09
check_reboot() {
  [ "${PROVISION_ASSUME_REBOOTED:-0}" != 1 ] || return 0
  [ -r /sys/module/nvidia/version ] || return 1
  # A branch, where the distribution decides on the release, ends in a dot.
  case $(cat /sys/module/nvidia/version) in "$DRIVER_WANTED" | "${DRIVER_WANTED%.}".*) ;; *) return 1 ;; esac
}
do_reboot() {
  # Where no other driver holds the GPU, the new module may simply be loaded.
  if [ ! -e /sys/module/nvidia ] && [ ! -e /sys/module/nouveau ] && modprobe nvidia 2>/dev/null && check_reboot; then
    note "loaded the nvidia module without a reboot"
    if [ -d /run/systemd/system ] && systemctl is-enabled --quiet nvidia-fabricmanager 2>/dev/null; then systemctl start nvidia-fabricmanager; fi
    return 0
  fi
  if [ "$REBOOT" = 1 ]; then
    say "rebooting now; run the same command again afterwards"
    systemctl reboot
    exit 6
  fi
  say "reboot this machine, then run the same command again: driver ${DRIVER_WANTED%.} is installed, but $(cat /sys/module/nvidia/version 2>/dev/null || echo no nvidia module) is loaded"
  exit 6
}
undo_reboot() { :; }

# -- verify: Verify: a kernel runs and its numbers are right
check_verify() { return 1; } # it changes nothing, so it runs each time
do_verify() {
  "$ENVIRONMENT/bin/python" - 2.7.1+cu128 12.8 sm_89 <<'CHECK' || exit 4
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
    blacklist-nouveau) return 0 ;;
    install-driver-runfile) return 0 ;;
    add-repository) return 0 ;;
    keep-driver-out) return 0 ;;
    install-fabric-manager) return 0 ;;
    install-toolkit-runfile) return 0 ;;
    write-environment) return 0 ;;
    reboot) return 0 ;;
  esac
  return 1
}

while [ $# -gt 0 ]; do
  case $1 in
    --dry-run) DRY_RUN=1 ;;
    --undo) UNDO=1 ;;
    --reboot) REBOOT=1 ;;
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
