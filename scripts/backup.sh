#!/usr/bin/env bash
# Backs up the replica set of docker-compose.yml into /backups (or BACKUPS). `regularly` makes backups for ever, `once`
# makes one now. `restore FILE` replaces the present data by a backup. `recent` checks the age of the last backup.
set -euo pipefail
self=$(realpath "$0")
cd "${BACKUPS:-/backups}"

case "${1:-}" in
  once)
    rm -f -- *.part
    name=$(date -u +%Y%m%dT%H%M%SZ).archive.gz
    mongodump --uri="$MONGO_URI" --oplog --gzip --archive="$name.part" --quiet
    # Verifies the archive: reads it to its end and writes nothing.
    mongorestore --uri="$MONGO_URI" --gzip --archive="$name.part" --dryRun --quiet
    mv "$name.part" "$name"
    sha256sum "$name" > "$name.sha256"
    find . -type f -mmin "+$((BACKUP_DAYS * 1440))" -delete
    echo "$name is made and read back"
    ;;
  regularly)
    while :; do
      # Runs in a process of its own, since a shell ignores `set -e` for commands before ||.
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
