#!/bin/sh
# `apt purge` deletes the sites of this machine, with their keys. `apt remove` keeps them.
set -e
[ "${1:-}" = purge ] || exit 0
for file in /etc/systemd/system/earshot-*.service; do
  [ -e "$file" ] || continue
  if grep -q /usr/lib/earshot/ "$file"; then rm -f "$file"; fi
done
rm -rf /var/lib/earshot
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
