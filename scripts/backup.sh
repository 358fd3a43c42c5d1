#!/usr/bin/env bash
# The backups of the composed replica set, in /backups (or BACKUPS): `regularly` makes them, `once` makes one now,
# `restore FILE` brings one back in the place of what is there, `recent` says whether the last one is as young as it should be.
set -euo pipefail
self=$(realpath "$0")
cd "${BACKUPS:-/backups}"

case "${1:-}" in
  once)
    rm -f -- *.part
    name=$(date -u +%Y%m%dT%H%M%SZ).archive.gz
    mongodump --uri="$MONGO_URI" --oplog --gzip --archive="$name.part" --quiet
    # Reads it to its end, and writes nothing.
    mongorestore --uri="$MONGO_URI" --gzip --archive="$name.part" --dryRun --quiet
    mv "$name.part" "$name"
    sha256sum "$name" > "$name.sha256"
    find . -type f -mmin "+$((BACKUP_DAYS * 1440))" -delete
    echo "$name is made and read back"
    ;;
  regularly)
    while :; do
      # A process of its own: what a shell runs before || goes on after a failure.
      bash "$self" once || echo 'The backup failed' >&2
      sleep "$((BACKUP_HOURS * 3600))"
    done
    ;;
  recent)
    [ -n "$(find . -name '*.archive.gz' -mmin "-$((BACKUP_HOURS * 60 + 60))")" ]
    ;;
  restore)
    sha256sum --check "$2.sha256"
    mongorestore --uri="$MONGO_URI" --gzip --archive="$2" --oplogReplay --drop
    ;;
  *)
    echo 'regularly, once, recent or restore FILE' >&2
    exit 2
    ;;
esac
