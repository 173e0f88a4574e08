#!/usr/bin/env bash
# Makes an authority and certificates for NATS over TLS, as a start or for tests:
#   infra/nats/make-certificates.sh FOLDER [NAME …]
# NAME is a host name or an address by which clients reach the server; default: localhost 127.0.0.1.
# Leaves ca.pem, server.pem, server-key.pem, client.pem and client-key.pem in FOLDER. Keep ca-key.pem somewhere safe.
set -euo pipefail

folder=${1:?usage: make-certificates.sh FOLDER [NAME …]}
shift
[ $# -gt 0 ] || set -- localhost 127.0.0.1
days=365

umask 077
mkdir -p "$folder"
cd "$folder"

names=""
for name in "$@"; do
  if [[ $name =~ ^[0-9.]+$ || $name == *:* ]]; then kind=IP; else kind=DNS; fi
  names+="${names:+,}$kind:$name"
done

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1" 2>/dev/null; }

# An authority that stands already signs the new certificates too.
if [ ! -e ca-key.pem ]; then
  key ca-key.pem
  openssl req -x509 -new -key ca-key.pem -days $((days * 10)) -subj "/CN=Baton NATS authority" -out ca.pem
fi

sign() {
  local name=$1 usage=$2 more=$3
  key "$name-key.pem"
  openssl req -new -key "$name-key.pem" -subj "/CN=baton-nats-$name" -out "$name.csr"
  openssl x509 -req -in "$name.csr" -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days "$days" -out "$name.pem" \
    -extfile <(printf 'basicConstraints=CA:FALSE\nkeyUsage=digitalSignature\nextendedKeyUsage=%s\n%s' "$usage" "$more") 2>/dev/null
  rm -f "$name.csr"
}

# Servers of a cluster are each other's clients.
sign server serverAuth,clientAuth "subjectAltName=$names"
sign client clientAuth ""
chmod 644 ca.pem server.pem client.pem
