#!/usr/bin/env bash
# Prepares this machine for a target, or reports what is missing and how to install it.
#
#   scripts/setup/ready.sh node       the pinned Node.js and the packages of package-lock.json
#   scripts/setup/ready.sh connection node's part, curl and a web server: root only if a Debian package is missing
#   scripts/setup/ready.sh net        node's part, and the Debian packages of the tests and benchmarks of connections
#   scripts/setup/ready.sh cluster    node's part, and a test cluster with Earshot: Debian packages, Go tools
#   scripts/setup/ready.sh demo       the same
#   scripts/setup/ready.sh e2e        the same, and the tools of the cluster tests
#   scripts/setup/ready.sh dist       node's part, and nFPM, which packs a release
#
# Each step runs once. Debian packages are installed by name; other builds and downloads are stored outside of the checkout.
# The last line of a failure is a short reason.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=${1:?usage: scripts/setup/ready.sh node|connection|net|demo|cluster|e2e|dist}

# Packages for a cluster, and Redis outside of it, client and server. None of them starts a service here.
cluster_packages=(ca-certificates containerd containernetworking-plugins curl iproute2 iptables libatomic1 openssl procps redis-server redis-tools runc tar util-linux busybox-static)
# Clients and servers at the two ends of a connection, and what cuts the way between them. The tests start them by hand.
net_packages=(aardvark-dns busybox-static chromium curl debootstrap docker.io faketime haproxy iperf3 iproute2 iptables libatomic1 netavark nghttp2-client nghttp2-proxy nginx-light openssh-client openssh-server
  openssl passwd podman postgresql procps prometheus redis-server redis-tools runc socat systemd uidmap util-linux wrk)

packages=("${cluster_packages[@]}")
case $target in
  node) tools=() packages=() ;;
  dist) tools=(nfpm) packages=() ;;
  connection)
    tools=() packages=()
    command -v curl >/dev/null || packages+=(curl)
    # Not grep -q: it would exit before busybox has printed its output, which counts as a failure here.
    busybox --list 2>/dev/null | grep -x httpd >/dev/null || packages+=(busybox-static)
    ;;
  net) tools=(nfpm) packages=("${net_packages[@]}") ;;
  demo | cluster) tools=(etcd kubernetes coredns) ;;
  e2e) tools=(etcd kubernetes coredns csi-provisioner helm csi-sanity metallb) packages+=(prometheus) ;;
  *) echo "scripts/setup/ready.sh: unknown target $target" >&2; exit 2 ;;
esac

missing=()
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# --- Everything that needs the user, reported at once. ---
if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
  missing+=("Node.js 18 or later with npm (Debian 12 or later: apt-get install nodejs npm); the project's own Node.js comes with npm ci")
elif ! at_least 18.0.0 "$(node --version | tr -d v)"; then
  missing+=("Node.js 18 or later: $(command -v node) is $(node --version)")
fi
if [ "$target" != node ]; then
  if [ "$(uname -s)" != Linux ]; then
    missing+=("Linux: hosts and nodes are network namespaces; this is $(uname -s)")
  elif [ "$target" = connection ] || [ "$target" = dist ]; then
    # If the programs are installed, neither root nor Debian is needed.
    if [ ${#packages[@]} -gt 0 ] && { [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; }; then
      missing+=("${packages[*]} (Debian: sudo apt-get install ${packages[*]})")
    fi
  else
    if [ "$(id -u)" != 0 ]; then
      missing+=("root: run the same command with sudo (sudo env PATH=\"\$PATH\" make ...)")
    fi
    if ! command -v apt-get >/dev/null; then
      missing+=("Debian 12 or a relative: apt-get installs $(echo "${packages[@]}")")
    fi
  fi
  for tool in "${tools[@]}"; do
    if [ ! -d "$(tools/build.sh --path "${tool/#kubernetes/${KUBERNETES:-kubernetes}}")" ]; then
      if ! command -v go >/dev/null; then
        missing+=("Go 1.26 or later in PATH, to build Kubernetes and its neighbours from source")
      elif ! at_least 1.26 "$(go env GOVERSION | sed 's/^go//')"; then
        missing+=("Go 1.26 or later: $(command -v go) is $(go env GOVERSION)")
      fi
      break
    fi
  done
fi
if [ ${#missing[@]} -gt 0 ]; then
  echo "Missing here:" >&2
  printf '  - %s\n' "${missing[@]}" >&2
  # One line, for quoting.
  echo "missing: $(printf '%s; ' "${missing[@]%%[:(]*}" | sed 's/; $//')" >&2
  exit 3
fi

# --- Debian packages ---
# They change the machine, so the user is asked. YES=1, or no terminal (as in CI), means yes.
may_install() {
  [ "${YES:-}" != 1 ] && [ -t 0 ] && [ -t 2 ] || return 0
  local answer
  printf 'This installs Debian packages on this machine: %s\nGo on? [y/N] ' "$*" >&2
  read -r answer || answer=
  case $answer in
    [yY] | [yY][eE][sS]) ;;
    *) echo "not installed: $*. Install them by hand, or run this again with YES=1." >&2; exit 3 ;;
  esac
}

# Files of a package that is being installed must not start a daemon: containerd, nginx, PostgreSQL and Prometheus would.
install_packages() {
  local wanted=("$@") policy=/usr/sbin/policy-rc.d
  may_install "${wanted[@]}"
  # Mirrors hiccup, and a fresh machine may be updating itself. A failed download of an index is an error immediately, instead of a missing package later.
  local patient=(apt-get -o Acquire::Retries=5 -o DPkg::Lock::Timeout=300 -o APT::Update::Error-Mode=any)
  echo "Installing Debian packages: ${wanted[*]}" >&2
  if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' > $policy
    chmod 755 $policy
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
  fi
  local log
  log=$(mktemp)
  export DEBIAN_FRONTEND=noninteractive
  if ! "${patient[@]}" install -y --no-install-recommends "${wanted[@]}" >"$log" 2>&1; then
    # The usual reason is a missing or old package list.
    if ! { "${patient[@]}" update && "${patient[@]}" install -y --no-install-recommends "${wanted[@]}"; } >"$log" 2>&1; then
      tail -n 20 "$log" >&2
      echo "apt-get could not install: ${wanted[*]}" >&2
      exit 1
    fi
  fi
  rm -f "$log"
}

absent() {
  local name
  for name in "$@"; do
    # busybox and busybox-static replace each other; the static one can go into an image alone.
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || echo "$name"
  done
}

if [ "$target" != node ]; then
  mapfile -t wanted < <(absent "${packages[@]}")
  [ ${#wanted[@]} -eq 0 ] || install_packages "${wanted[@]}"
fi

# --- Node.js packages ---
if ! node scripts/setup/installed.mjs; then
  echo "Installing Node.js packages (npm ci)" >&2
  npm ci --no-audit --no-fund --loglevel=error --fetch-retries=5 >&2
fi
# There is a package for each processor. npm before version 11 removes the program's link with the packages of other processors.
if [ ! -e node_modules/.bin/node ]; then
  for package in node_modules/node-linux-*/bin/node; do
    [ ! -x "$package" ] || ln -sf "../${package#node_modules/}" node_modules/.bin/node
  done
fi
if ! node_modules/.bin/node --version >/dev/null 2>&1; then
  # Debian's minimal images lack this one library of Node.js's.
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    install_packages libatomic1
  fi
  node_modules/.bin/node --version >/dev/null || { echo "the pinned Node.js does not start; on Debian it needs libatomic1" >&2; exit 1; }
fi

# --- Go tools, in the order in which they are needed ---
for tool in "${tools[@]}"; do
  tools/build.sh "${tool/#kubernetes/${KUBERNETES:-kubernetes}}"
done
