#!/bin/sh
# Debian passes `remove` or `upgrade`, RPM the number of versions that stay: 0 for a removal.
set -e
case ${1:-} in
  remove | 0) ;;
  *) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
  for file in /etc/systemd/system/earshot-*.service; do
    [ -e "$file" ] || continue
    grep -q /usr/lib/earshot/ "$file" || continue
    systemctl disable --now "$(basename "$file")" || true
  done
  for link in /etc/systemd/system/*.wants/earshot@*.service; do
    [ -L "$link" ] || continue
    systemctl disable "$(basename "$link")" || true
  done
  systemctl stop 'earshot@*.service' || true
fi
