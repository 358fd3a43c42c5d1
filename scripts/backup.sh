#!/usr/bin/env bash
# Backs up the replica set of docker-compose.yml into /backups (or BACKUPS). `regularly` makes a backup every BACKUP_HOURS,
# `once` makes one now. `restore FILE` replaces the current data by a backup. `recent` fails if the last backup is too old.
set -euo pipefail
self=$(realpath "$0")
usage='Usage: backup.sh regularly | once | recent | restore FILE'
[ "${1:-}" != --help ] || { echo "$usage"; exit; }
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
    echo "Backup $name written and verified"
    ;;
  regularly)
    while :; do
      # Runs in a process of its own, since a shell ignores `set -e` for commands before ||.
      bash "$self" once || echo "The backup failed; next attempt in $BACKUP_HOURS h" >&2
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
    echo "$usage" >&2
    exit 2
    ;;
esac
