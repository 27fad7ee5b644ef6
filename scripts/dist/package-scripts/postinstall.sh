#!/bin/sh
# Running sites keep the old program until they are restarted, so an upgrade cuts no connection.
set -e
if ! getent passwd earshot > /dev/null; then
  useradd --system --user-group --no-create-home --home-dir /var/lib/earshot --shell /usr/sbin/nologin earshot
fi
# A directory of an earlier version belongs to root until systemd gives it to the user of a unit.
if [ ! -e /var/lib/earshot ]; then
  mkdir -m 0755 /var/lib/earshot
  chown earshot:earshot /var/lib/earshot
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
  for unit in $(systemctl list-units --plain --no-legend --state=running 'earshot-*.service' 'earshot@*.service' 2>/dev/null | cut -d ' ' -f 1); do
    echo "earshot: $unit still runs the version before. Restart it when it suits you: systemctl restart $unit"
  done
fi
