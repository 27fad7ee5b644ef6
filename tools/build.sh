#!/usr/bin/env bash
# Builds the Go tools of the test cluster and prints nothing but progress.
#
#   tools/build.sh NAME...        builds tools/NAME, unless the cache already holds that go.sum
#   tools/build.sh --path NAME    prints the folder that holds NAME's binaries
#
# tools/NAME/ldflags holds flags for the linker; each line `MODULE FOLDER NAME` of tools/NAME/keep puts a folder of a
# module's source beside the binaries. Binaries live outside the checkout, in $EARSHOT_CACHE (default ~/.cache/earshot), in a folder keyed by the
# module's go.mod and go.sum, so that a clean clone finds what an earlier one built.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${EARSHOT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/earshot}/tools

folder_of() {
  local key
  key=$( (cat "$here/$1/go.mod" "$here/$1/go.sum" "$here/$1/ldflags" "$here/$1/keep" 2>/dev/null || true) | sha256sum | cut -c1-12)
  echo "$cache/$1-$key"
}

# One line each hundred packages: a build of ten minutes must not look like a hang.
show_progress() {
  awk -v name="$1" '/^go: downloading/ { if (++got % 100 == 0) { print "  " name ": " got " modules fetched"; fflush() } next } /^[a-zA-Z0-9._-]+(\/[^ :]*)?$/ { if (++n % 100 == 0) { print "  " name ": " n " packages compiled"; fflush() } next } { print; fflush() }' >&2
}

# Go asks its proxy once for each of some hundred modules. What came, and what was compiled of it, is kept for the next try.
compile() {
  local name=$1 fresh=$2 try
  for try in 1 2 3; do
    [ $try = 1 ] || echo "  $name: try $try" >&2
    (cd "$here/$name" && GOFLAGS=-mod=readonly CGO_ENABLED=0 go build -v -trimpath -ldflags "-s -w $(cat ldflags 2>/dev/null)" -o "$fresh/" tool) 2>&1 | show_progress "$name" && return
  done
  return 1
}

build() {
  local name=$1 folder start
  [ -f "$here/$name/go.mod" ] || { echo "tools/build.sh: no tools/$name/go.mod; known: $(cd "$here" && ls -d */ | tr -d / | tr '\n' ' ')" >&2; exit 2; }
  folder=$(folder_of "$name")
  [ -d "$folder" ] && return
  command -v go >/dev/null || { echo "tools/build.sh: building $name needs Go 1.26 or later; install it and have \`go\` in PATH" >&2; exit 1; }
  echo "Building $name (once; kept in $folder)" >&2
  start=$SECONDS
  mkdir -p "$cache"
  # Two builds at once must not see each other's half: each has its own folder, and one rename makes it current.
  local fresh
  fresh=$(mktemp -d "$cache/.$name.XXXXXX")
  compile "$name" "$fresh" || { rm -rf "$fresh"; exit 1; }
  [ ! -f "$here/$name/keep" ] || while read -r module from to; do
    cp -r "$(cd "$here/$name" && go list -m -f '{{.Dir}}' "$module")/$from" "$fresh/$to"
    chmod -R u+w "$fresh/$to"
  done < "$here/$name/keep"
  chmod 755 "$fresh"
  mv -T "$fresh" "$folder" 2>/dev/null || rm -rf "$fresh"
  echo "  $name: built in $((SECONDS - start)) s" >&2
}

if [ "${1:-}" = --path ]; then
  folder_of "$2"
else
  for name in "$@"; do build "$name"; done
fi
