#!/bin/sh
# Running sites keep the old program until they are restarted, so an upgrade cuts no connection.
set -e
if [ -d /run/systemd/system ]; then
  for unit in $(systemctl list-units --plain --no-legend --state=running 'earshot-*.service' 2>/dev/null | cut -d ' ' -f 1); do
    echo "earshot: $unit still runs the version before. Restart it when it suits you: systemctl restart $unit"
  done
fi
