#!/usr/bin/env bash
# Backs up the replica set of docker-compose.yml into /backups (or BACKUPS). `regularly` makes a backup every BACKUP_HOURS,
# `once` makes one now. `restore FILE` replaces all databases by those of a backup. `recent` fails if the last backup is too old.
set -euo pipefail
self=$(realpath "$0")
usage='Usage: backup.sh regularly | once | recent | restore FILE'
[ "${1:-}" != --help ] || { echo "$usage"; exit; }
cd "${BACKUPS:-/backups}"

# The tools read the address from a file or the environment: other users of the machine can see arguments, and it has a password.
address() { printf "uri: '%s'\n" "${MONGO_URI//\'/\'\'}"; }

# Another container may be writing a backup here.
lock() {
  exec {directory}<.
  flock -n "$directory" || { echo 'Waiting for another backup or restore' >&2; flock "$directory"; }
}

# Reads an archive to its end, writes nothing, and fails unless it is whole. gzip compares the checksum of all data, and a
# dump that was cut off has no end mark. A dry run of mongorestore reads the head only: the names of the collections.
verify() {
  local end
  end=$(gzip --decompress --stdout "$1" | tail -c 4 | od -An -t x1)
  [ "$end" = ' ff ff ff ff' ] || { echo "$1 has no end" >&2; return 1; }
  mongorestore --config=<(address) --gzip --archive="$1" --dryRun --quiet
}

# mongorestore --drop would leave the collections that are not in the backup.
drop_databases='
  const db = connect(process.env.MONGO_URI);
  const kept = ["admin", "config", "local"];
  for (const { name } of db.adminCommand({ listDatabases: 1, nameOnly: true }).databases)
    if (!kept.includes(name)) db.getSiblingDB(name).dropDatabase()'

case "${1:-}" in
  once)
    lock
    rm -f -- *.part
    name=$(date -u +%Y%m%dT%H%M%SZ).archive.gz
    mongodump --config=<(address) --oplog --gzip --archive="$name.part" --quiet
    verify "$name.part"
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
    [ -n "${2:-}" ] || { echo "$usage" >&2; exit 2; }
    sha256sum --check "$2.sha256"
    lock
    verify "$2"
    mongosh --nodb --quiet --eval "$drop_databases"
    mongorestore --config=<(address) --gzip --archive="$2" --oplogReplay --drop
    ;;
  *)
    echo "$usage" >&2
    exit 2
    ;;
esac
