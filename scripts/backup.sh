#!/usr/bin/env bash
# The backups of the composed replica set, in /backups: `regularly` makes them, `restore FILE` brings one back in the
# place of what is there, `recent` says whether the last one is as young as it should be.
set -euo pipefail

make_one() {
  local name
  name=$(date -u +%Y%m%dT%H%M%SZ).archive.gz
  mongodump --uri="$MONGO_URI" --oplog --gzip --archive="/backups/$name.part" --quiet
  # Reads it to its end, and writes nothing.
  mongorestore --uri="$MONGO_URI" --gzip --archive="/backups/$name.part" --dryRun --quiet
  (cd /backups && mv "$name.part" "$name" && sha256sum "$name" > "$name.sha256")
  find /backups -type f -mmin "+$((BACKUP_DAYS * 1440))" -delete
  echo "$name is made and read back"
}

case "${1:-}" in
  regularly)
    while :; do
      make_one || echo 'The backup failed' >&2
      sleep "$((BACKUP_HOURS * 3600))"
    done
    ;;
  recent)
    [ -n "$(find /backups -name '*.archive.gz' -mmin "-$((BACKUP_HOURS * 60 + 60))")" ]
    ;;
  restore)
    cd /backups
    sha256sum --check "$2.sha256"
    mongorestore --uri="$MONGO_URI" --gzip --archive="$2" --oplogReplay --drop
    ;;
  *)
    echo 'regularly, recent or restore FILE' >&2
    exit 2
    ;;
esac
