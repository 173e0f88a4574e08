#!/usr/bin/env bash
# Starts Docker's daemon where no service manager does, as root, and waits until it answers:
#   infra/start-docker.sh
# Does nothing where one answers already. Its log is /var/log/baton-dockerd.log.
set -euo pipefail

log=/var/log/baton-dockerd.log
answers() { docker version >/dev/null 2>&1; }

if answers; then exit 0; fi
if [ "$(id -u)" != 0 ]; then
  echo "no Docker engine answers, and only root can start one: run this as root" >&2
  exit 1
fi
command -v dockerd >/dev/null || { echo "no dockerd: apt-get install docker.io iptables" >&2; exit 1; }
# What an ended daemon has left: a new one takes any process with the number in it for its forerunner.
for file in /run/docker.pid /var/run/docker.pid; do
  if [ -e "$file" ] && ! grep -qs dockerd "/proc/$(cat "$file")/comm"; then rm -f "$file"; fi
done
# It starts its own containerd. In a session of its own it outlives this script and no terminal's signal reaches it.
# Each container weighs as much as a process outside for the scheduler; below Docker's usual parent all of them together do.
setsid dockerd --cgroup-parent=/ </dev/null >"$log" 2>&1 &
for _ in $(seq 1 120); do
  if answers; then exit 0; fi
  sleep 0.25
done
echo "dockerd does not come up:" >&2
tail -n 20 "$log" >&2
exit 1
