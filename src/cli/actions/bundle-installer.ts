/** The shell script that installs a bundle on another machine (POSIX sh). Pure. */
import type { MachinePlatform } from '../place.ts';

export interface InstallerOptions {
  /** RFC 1123 label. */
  readonly namespace: string;
  readonly platform: MachinePlatform;
  /** `beside`: the script is a file beside the directory `input`. `behind`: the archive follows the script in the same file. */
  readonly archive: 'beside' | 'behind';
}

export function installerText({ namespace, platform, archive }: InstallerOptions): string {
  const unpack = 'tail -n +LINES "$0" | tar -xzf - -C "$work"';
  const lines = [...before(namespace, platform), archive === 'beside' ? 'from=$(dirname "$0")' : unpack, ...after];
  // The archive begins in the line after the last one.
  return `${lines.join('\n').replace('+LINES', `+${lines.join('\n').split('\n').length + 1}`)}\n`;
}

const before = (namespace: string, platform: string): readonly string[] => [
  `#!/bin/sh
# Installs a site on this machine. Written by \`earshot system generate-bundle NAME\`.
set -eu
umask 077
namespace=${namespace}
platform=${platform}
remove=
links=

usage() {
  cat <<'END'
Usage: sh FILE [-p PLATFORM] [-n NAMESPACE] [-d DIRECTORY] [-x]
  -p  platform: linux, podman or docker (default: ${platform})
  -n  namespace on this machine (default: ${namespace})
  -d  write links to this site into DIRECTORY, for other sites to apply
  -x  remove the namespace with its keys
END
}
fail() {
  echo "$*" >&2
  exit 1
}
site() {
  earshot -p "$platform" -n "$namespace" "$@"
}

while getopts p:n:d:xh option; do
  case $option in
    p) platform=$OPTARG ;;
    n) namespace=$OPTARG ;;
    d) links=$OPTARG ;;
    x) remove=yes ;;
    h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
case $platform in
  linux | podman | docker) ;;
  *) fail "Nothing was changed: the platform $platform is not supported. Give linux, podman or docker." ;;
esac
if [ -n "$links" ] && { [ ! -d "$links" ] || [ ! -w "$links" ]; }; then
  fail "Nothing was changed: $links is not a directory that you can write to. Create it first."
fi
command -v earshot >/dev/null 2>&1 ||
  fail 'Nothing was changed: the program earshot is not on PATH. Install Earshot on this machine, then run this again.'
if [ -n "$remove" ]; then
  site system uninstall --purge
  exit
fi

# Code 6: the directory is known, and nothing runs it.
status=$(site system status -o json 2>/dev/null) || [ $? -eq 6 ] || site system status
root=$(printf '%s\\n' "$status" | sed -n 's/^ *"directory": "\\(\\/[^"\\]*\\)",*$/\\1/p')
[ -n "$root" ] || fail 'Nothing was changed: earshot does not say where the namespace is. Install the version that wrote this bundle.'
if [ -e "$root/input" ] && [ -z "$links" ]; then
  fail "Nothing was changed: the namespace $namespace exists in $root. Remove it with -x, or give another name with -n."
fi
if [ ! -e "$root/input" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  from=$work`,
];

const after = [
  `  mkdir -p "$root"
  rm -rf "$root/.input.tmp"
  cp -R "$from/input" "$root/.input.tmp"
  mv "$root/.input.tmp" "$root/input"
  echo "The namespace $namespace is installed in $root."
  if [ "$platform" != linux ] || [ -d /run/systemd/system ]; then
    site system install
  else
    echo "systemd does not run on this machine. Start the site with: earshot -n $namespace run"
  fi
fi
if [ -n "$links" ]; then
  site link generate >/dev/null
  for link in "$root"/runtime/links/link-*.yaml; do
    # An existing file may be a link, or be readable for others.
    rm -f "$links/$(basename "$link")"
    cp "$link" "$links"/
  done
  echo "The links are in $links. Each holds a key."
fi
exit`,
];
