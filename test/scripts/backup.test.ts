import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Replacements for MongoDB's tools and the clock, which record their calls. */
const tools = {
  mongodump:
    'for it; do case $it in --archive=*) echo dump > $(echo $it | cut -d= -f2) ;; esac; done; exit $DUMP',
  mongorestore: 'exit $RESTORE',
  // Ends the endless loop.
  sleep: 'kill $PPID',
}

describe('scripts/backup.sh', () => {
  let backups: string
  let bin: string
  beforeEach(() => {
    const directory = mkdtempSync(join(tmpdir(), 'backup-'))
    ;[backups, bin] = [join(directory, 'backups'), join(directory, 'bin')]
    for (const folder of [backups, bin]) mkdirSync(folder)
    for (const [name, does] of Object.entries(tools)) {
      writeFileSync(join(bin, name), `#!/bin/sh\necho "${name} $*" >> "${directory}/calls"\n${does}\n`)
      chmodSync(join(bin, name), 0o755)
    }
  })

  const run = (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const PATH = `${bin}:${process.env.PATH}`
    const uri = { MONGO_URI: 'mongodb://there', BACKUP_HOURS: '24', BACKUP_DAYS: '14' }
    const environment = { PATH, BACKUPS: backups, DUMP: '0', RESTORE: '0', ...uri, ...env }
    return spawnSync('bash', ['scripts/backup.sh', ...args], { env: environment, encoding: 'utf8' })
  }
  const calls = () => readFileSync(join(bin, '../calls'), 'utf8').trim().split('\n')
  const archives = () => readdirSync(backups).filter((name) => name.endsWith('.archive.gz'))
  const agedDays = (name: string, days: number) => {
    writeFileSync(join(backups, name), 'old')
    const at = new Date(Date.now() - days * 86_400_000)
    utimesSync(join(backups, name), at, at)
  }

  it('makes a backup at the start and each BACKUP_HOURS, reads each back, and removes those older than BACKUP_DAYS', () => {
    agedDays('20200101T000000Z.archive.gz', 15)
    agedDays('20200102T000000Z.archive.gz', 13)
    const { stdout } = run(['regularly'], { BACKUP_HOURS: '6' })
    const [older, archive] = archives()
    assert.deepEqual([older, archives().length], ['20200102T000000Z.archive.gz', 2])
    assert.equal(stdout, `Backup ${archive} written and verified\n`)
    assert.deepEqual(calls(), [
      `mongodump --uri=mongodb://there --oplog --gzip --archive=${archive}.part --quiet`,
      `mongorestore --uri=mongodb://there --gzip --archive=${archive}.part --dryRun --quiet`,
      'sleep 21600',
    ])
  })

  it('prints its usage, also where no backups can be', () => {
    const { stdout, status } = run(['--help'], { BACKUPS: '/nowhere' })
    assert.deepEqual([stdout, status], ['Usage: backup.sh regularly | once | recent | restore FILE\n', 0])
  })

  it('keeps no failed backup, does not count it, and continues', () => {
    for (const failed of [{ DUMP: '1' }, { RESTORE: '1' }]) {
      agedDays('20200101T000000Z.archive.gz', 15)
      const { stdout, stderr } = run(['regularly'], failed)
      assert.deepEqual(
        [stdout, stderr],
        ['', 'The backup failed; next attempt in 24 h\n'],
        JSON.stringify(failed),
      )
      assert.deepEqual(archives(), ['20200101T000000Z.archive.gz'])
      assert.equal(calls().at(-1), 'sleep 86400')
    }
    assert.equal(run(['once']).status, 0)
    assert.ok(readdirSync(backups).every((name) => !name.endsWith('.part')))
  })

  it('is healthy while there is a recent enough backup', () => {
    assert.notEqual(run(['recent']).status, 0)
    agedDays('20200101T000000Z.archive.gz', 2)
    assert.notEqual(run(['recent']).status, 0)
    run(['once'])
    assert.equal(run(['recent']).status, 0)
  })

  it('restores only an unchanged backup', () => {
    run(['once'])
    const [archive = ''] = archives()
    assert.equal(run(['restore', archive]).status, 0)
    const restore = `mongorestore --uri=mongodb://there --gzip --archive=${archive} --oplogReplay --drop`
    assert.equal(calls().at(-1), restore)
    writeFileSync(join(backups, archive), 'bytes have changed')
    assert.notEqual(run(['restore', archive]).status, 0)
    assert.notEqual(run(['restore', 'none.archive.gz']).status, 0)
    assert.notEqual(run(['restore']).status, 0)
    assert.equal(calls().filter((call) => call === restore).length, 1)
    assert.notEqual(run(['restore', archive], { RESTORE: '1' }).status, 0)
  })

  it('prints its usage for an unknown command', () => {
    const { status, stderr } = run(['yesterday'])
    assert.deepEqual([status, stderr], [2, 'Usage: backup.sh regularly | once | recent | restore FILE\n'])
  })
})
