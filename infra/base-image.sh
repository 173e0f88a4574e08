#!/usr/bin/env bash
# Makes base images out of Debian's packages and this machine's own Node and nats-server, where no image can be pulled:
#   infra/base-image.sh              leaves baton-base:local (Node) and baton-nats:local (nats-server)
# Needs root, debootstrap, a running Docker engine, and a Debian of the release that it makes (the binaries are copied).
# What is there already is kept; `docker rmi` it to have it made anew. The base is also kept as a file below the user's cache folder.
set -euo pipefail

base=baton-base:local
nats=baton-nats:local

has() { docker image inspect "$1" >/dev/null 2>&1; }
if has "$base" && has "$nats"; then exit 0; fi
if ! docker version >/dev/null 2>&1; then
  echo "no Docker engine answers; start one: infra/start-docker.sh (as root)" >&2
  exit 1
fi
if [ "$(id -u)" != 0 ]; then
  echo "only root can make the base images (debootstrap): run this as root" >&2
  exit 1
fi

folder=$(mktemp -d)
# In memory where that can be: a package manager waits for the disk at every file.
mount -t tmpfs -o size=1g baton-base "$folder" 2>/dev/null || true
trap 'umount "$folder" 2>/dev/null || true; rm -rf "$folder"' EXIT

if ! has "$base"; then
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  # Kept for the next engine that knows nothing; `rm` it to have it made anew.
  kept=${XDG_CACHE_HOME:-$HOME/.cache}/baton/base-$release-node-$(node --version)-$(dpkg --print-architecture).tar
  if [ ! -e "$kept" ]; then
    # The mirror that apt uses, whichever that is.
    mirror=$(apt-get indextargets --format '$(RELEASE) $(SITE)' 'Created-By: Packages' | awk -v release="$release" '$1 == release { print $2; exit }')
    echo "making $base from Debian $release …" >&2
    log=$folder/debootstrap.log
    debootstrap --variant=minbase --include=libstdc++6 "$release" "$folder/root" ${mirror:+"$mirror"} >"$log" 2>&1 ||
      { tail -n 20 "$log" >&2; exit 1; }
    rm -rf "$folder/root/var/cache/apt" "$folder/root/var/lib/apt/lists" "$folder/root/usr/share"/{doc,man,locale,info} "$folder/root/var/log"/*
    install -D "$(readlink -f "$(command -v node)")" "$folder/root/usr/local/bin/node"
    chroot "$folder/root" /usr/local/bin/node --version >/dev/null
    mkdir -p "$(dirname "$kept")"
    tar -C "$folder/root" --exclude=./dev/* -cf "$kept.$$" .
    mv "$kept.$$" "$kept"
  fi
  docker import --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' "$kept" "$base" >/dev/null
fi

if ! has "$nats"; then
  echo "making $nats …" >&2
  mkdir "$folder/nats"
  install "$(readlink -f "$(command -v nats-server)")" "$folder/nats/nats-server"
  printf 'FROM %s\nCOPY nats-server /usr/local/bin/\nUSER 10001:10001\nEXPOSE 4222 6222 8222\nENTRYPOINT ["nats-server"]\n' "$base" >"$folder/nats/Dockerfile"
  docker build -q -t "$nats" "$folder/nats" >"$folder/build.log" 2>&1 || { cat "$folder/build.log" >&2; exit 1; }
fi
