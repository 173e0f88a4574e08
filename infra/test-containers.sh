#!/usr/bin/env bash
# Runs the suite of containers, each actor its own, as root: installs and starts Docker where it is missing, makes the base images,
# and ends what it started.
#   infra/test-containers.sh [VITEST OPTIONS]
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
command -v nats-server >/dev/null || missing+=(nats-server)
command -v debootstrap >/dev/null || missing+=(debootstrap)
command -v dockerd >/dev/null || missing+=(docker.io iptables)
if [ ${#missing[@]} -gt 0 ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# A daemon that was there stays; one of ours ends with us.
if ! docker version >/dev/null 2>&1; then
  infra/start-docker.sh
  trap 'kill "$(cat /run/docker.pid)" 2>/dev/null || true' EXIT
fi
infra/base-image.sh

status=0
BATON_TEST_REQUIRE=docker npm test --silent -- --project containers "$@" || status=$?
exit "$status"
