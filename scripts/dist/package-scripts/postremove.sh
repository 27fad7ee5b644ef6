#!/bin/sh
# `apt purge` deletes the sites of this machine, with their keys. `apt remove` keeps them. The user stays, as other files may be its own.
set -e
[ "${1:-}" = purge ] || exit 0
for file in /etc/systemd/system/earshot-*.service; do
  [ -e "$file" ] || continue
  # Units of containers run no file of the package, but they serve the directory that is deleted here.
  grep -q -e /usr/lib/earshot/ -e '--volume /var/lib/earshot/' "$file" || continue
  if [ -d /run/systemd/system ]; then systemctl disable --now "$(basename "$file")" || true; fi
  rm -f "$file"
done
rm -rf /var/lib/earshot /etc/systemd/system/earshot@.service.d /etc/systemd/system/earshot@*.service.d
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
