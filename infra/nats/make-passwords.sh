#!/usr/bin/env bash
# Makes a password for each user of nats.conf:
#   infra/nats/make-passwords.sh FOLDER
# Leaves FOLDER/nats.env for the server's environment, and FOLDER/<role>.json for each actor's --nats-creds. What is there
# already is kept.
set -euo pipefail

folder=${1:?usage: make-passwords.sh FOLDER}
mkdir -p "$folder"
# The folder is the lock: containers and services read the single files as users of their own.
chmod 700 "$folder"
if [ -e "$folder/nats.env" ]; then exit 0; fi

# The server reads what begins with a digit as a number.
draw() { printf x; od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

for user in frontend discovery prefill-router decode-router kv-event-aggregator worker watcher; do
  password=$(draw)
  printf '{"user": "%s", "password": "%s"}\n' "$user" "$password" >"$folder/$user.json"
  name=${user//-/_}
  printf 'BATON_%s_PASSWORD=%s\n' "${name^^}" "$password" >>"$folder/nats.env.part"
done
printf 'BATON_NATS_ROUTE_PASSWORD=%s\n' "$(draw)" >>"$folder/nats.env.part"
mv "$folder/nats.env.part" "$folder/nats.env"
