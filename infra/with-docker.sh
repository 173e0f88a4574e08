#!/usr/bin/env bash
# Runs a command with a Docker engine and our base images: installs and starts Docker where it is missing, makes the images,
# and ends the daemon afterwards if it was ours. As root; where Docker runs already, as anybody who may use it.
#   infra/with-docker.sh COMMAND [ARGUMENT…]
#   infra/with-docker.sh npm test -- --project containers        # each actor in a container of its own
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -eq 0 ]; then
  echo "usage: infra/with-docker.sh COMMAND [ARGUMENT…]" >&2
  exit 2
fi
answers() { docker version >/dev/null 2>&1; }
if ! answers && [ "$(id -u)" != 0 ]; then
  echo "no Docker engine answers, and only root can install and start one: run this as root" >&2
  exit 1
fi

missing=()
command -v nats-server >/dev/null || missing+=(nats-server)
command -v debootstrap >/dev/null || missing+=(debootstrap)
command -v docker >/dev/null && { answers || command -v dockerd >/dev/null; } || missing+=(docker.io iptables)
if [ ${#missing[@]} -gt 0 ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# Whether a process lives: one that has ended stays in the table until somebody asks for it, and in a container perhaps nobody does.
lives() { grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"; }

# A daemon that was there stays. One of ours ends with us, and before it what a command that was ended by force has left in it.
end_daemon() {
  local pid=$1 left
  left=$(docker ps -aq --filter label=org.testcontainers 2>/dev/null) && [ -z "$left" ] || docker rm -fv $left >/dev/null 2>&1 || true
  docker network prune -f --filter label=baton.test >/dev/null 2>&1 || true
  kill "$pid" 2>/dev/null || return 0
  for _ in $(seq 1 120); do
    lives "$pid" || return 0
    sleep 0.25
  done
  echo "dockerd ($pid) does not end" >&2
}
if ! answers; then
  infra/start-docker.sh
  daemon=$(cat /run/docker.pid)
  trap 'end_daemon "$daemon"' EXIT
fi
infra/base-image.sh

status=0
"$@" || status=$?
exit "$status"
