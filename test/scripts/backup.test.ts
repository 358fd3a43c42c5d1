import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitUntil } from '../harness/wait.ts'

/** The end mark of an archive of mongodump. */
const END = '\\377\\377\\377\\377'

const ADDRESS = 'mongodb://admin:secret@there/?replicaSet=records'

/** Replacements for MongoDB's tools and the clock, which record their calls. */
const tools = {
  // WRITE may damage the archive, and a file HOLD keeps it open, as a dump that takes long.
  mongodump: `for it; do case $it in --archive=*) exec > $(echo $it | cut -d= -f2) ;; esac; done
    { seq 9999; printf "$END"; } | gzip | eval "$WRITE"
    while [ -e "$HOLD" ]; do /bin/sleep 0.1; done
    exit $DUMP`,
  mongorestore: 'exit $RESTORE',
  mongosh: 'exit $DROP',
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
      const record = `for it; do case $it in --config=*) cat "\${it#*=}" >> "${directory}/addresses" ;; esac; done
    echo "${name} $*" | sed 's|=/dev/fd/[0-9]*|=FILE|' >> "${directory}/calls"`
      writeFileSync(join(bin, name), `#!/bin/sh\n${record}\n${does}\n`)
      chmodSync(join(bin, name), 0o755)
    }
  })

  const environment = (more: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
    PATH: `${bin}:${process.env.PATH}`,
    BACKUPS: backups,
    MONGO_URI: ADDRESS,
    BACKUP_HOURS: '24',
    BACKUP_DAYS: '14',
    DUMP: '0',
    RESTORE: '0',
    DROP: '0',
    END,
    WRITE: 'cat',
    HOLD: '',
    ...more,
  })
  const run = (args: string[], env: NodeJS.ProcessEnv = {}) =>
    spawnSync('bash', ['scripts/backup.sh', ...args], { env: environment(env), encoding: 'utf8' })
  const calls = () => readFileSync(join(bin, '../calls'), 'utf8').trim().split('\n')
  const archives = () => readdirSync(backups).filter((name) => name.endsWith('.archive.gz'))
  const agedDays = (name: string, days: number) => {
    writeFileSync(join(backups, name), 'old')
    const time = new Date(Date.now() - days * 86_400_000)
    utimesSync(join(backups, name), time, time)
  }

  it('makes a backup at the start and each BACKUP_HOURS, reads each back, and removes those older than BACKUP_DAYS', () => {
    agedDays('20200101T000000Z.archive.gz', 15)
    agedDays('20200102T000000Z.archive.gz', 13)
    const { stdout } = run(['regularly'], { BACKUP_HOURS: '6' })
    const [older, archive] = archives()
    assert.deepEqual([older, archives().length], ['20200102T000000Z.archive.gz', 2])
    assert.equal(stdout, `Backup ${archive} written and verified\n`)
    assert.deepEqual(calls(), [
      `mongodump --config=FILE --oplog --gzip --archive=${archive}.part --quiet`,
      `mongorestore --config=FILE --gzip --archive=${archive}.part --dryRun --quiet`,
      'sleep 21600',
    ])
  })

  it('gives the tools the address of the database in no argument', () => {
    run(['once'])
    run(['restore', archives()[0] as string])
    const addresses = readFileSync(join(bin, '../addresses'), 'utf8')
    assert.deepEqual(addresses.trim().split('\n'), Array(4).fill(`uri: '${ADDRESS}'`))
    assert.doesNotMatch(calls().join('\n'), /secret/)
  })

  it('prints its usage, also where no backups can be', () => {
    const { stdout, status } = run(['--help'], { BACKUPS: '/nowhere' })
    assert.deepEqual([stdout, status], ['Usage: backup.sh regularly | once | recent | restore FILE\n', 0])
  })

  it('keeps no failed backup, does not count it, and continues', () => {
    const damaged = [
      { END: '' },
      { WRITE: 'head -c -9' },
      { WRITE: 'head -c 9000; head -c 9 /dev/zero; cat' },
    ]
    for (const failed of [{ DUMP: '1' }, { RESTORE: '1' }, ...damaged]) {
      agedDays('20200101T000000Z.archive.gz', 15)
      const { stdout, stderr } = run(['regularly'], failed)
      assert.equal(stdout, '', JSON.stringify(failed))
      assert.match(stderr, /The backup failed; next attempt in 24 h\n$/)
      assert.deepEqual(archives(), ['20200101T000000Z.archive.gz'])
      assert.equal(calls().at(-1), 'sleep 86400')
    }
    assert.equal(run(['once']).status, 0)
    assert.ok(readdirSync(backups).every((name) => !name.endsWith('.part')))
  })

  it('waits for another backup that is being written', async () => {
    const HOLD = join(bin, '../hold')
    writeFileSync(HOLD, '')
    const start = (HOLD: string) =>
      spawn('bash', ['scripts/backup.sh', 'once'], { env: environment({ HOLD }) })
    const regular = start(HOLD)
    await waitUntil(() => readdirSync(backups).some((name) => name.endsWith('.part')))
    const other = start('')
    const ended = [regular, other].map(async (child) => {
      const [output] = await Promise.all([text(child.stdout), once(child, 'close')])
      return output.replace(/\S+Z[.]/, '')
    })
    const later = once(other, 'close').then(() => false)
    assert.ok(await Promise.race([later, sleep(500).then(() => true)]), 'the second one has not waited')
    rmSync(HOLD)
    const written = 'Backup archive.gz written and verified\n'
    assert.deepEqual(await Promise.all(ended), [written, written])
  })

  it('is healthy while there is a recent enough backup', () => {
    assert.notEqual(run(['recent']).status, 0)
    agedDays('20200101T000000Z.archive.gz', 2)
    assert.notEqual(run(['recent']).status, 0)
    run(['once'])
    assert.equal(run(['recent']).status, 0)
  })

  it('restores only a whole and unchanged backup, in place of all databases', () => {
    run(['once'])
    const [archive = ''] = archives()
    assert.equal(run(['restore', archive]).status, 0)
    const restore = `mongorestore --config=FILE --gzip --archive=${archive} --oplogReplay --drop`
    assert.match(calls().join('\n'), /dryRun --quiet\nmongosh --nodb --quiet --eval .*dropDatabase/s)
    assert.equal(calls().at(-1), restore)
    const dropsAndRestores = () =>
      calls().filter((call) => call === restore || call.startsWith('mongosh')).length
    writeFileSync(join(backups, archive), 'bytes have changed')
    assert.notEqual(run(['restore', archive]).status, 0)
    assert.notEqual(run(['restore', 'none.archive.gz']).status, 0)
    assert.notEqual(run(['restore']).status, 0)
    // An earlier version verified less.
    const sha256 = createHash('sha256').update('bytes have changed').digest('hex')
    writeFileSync(join(backups, `${archive}.sha256`), `${sha256}  ${archive}\n`)
    assert.notEqual(run(['restore', archive]).status, 0)
    assert.equal(dropsAndRestores(), 2)
    run(['once'])
    const whole = archives().at(-1) as string
    assert.notEqual(run(['restore', whole], { DROP: '1' }).status, 0)
    assert.equal(dropsAndRestores(), 3)
    assert.notEqual(run(['restore', whole], { RESTORE: '1' }).status, 0)
  })

  it('prints its usage for an unknown command', () => {
    const { status, stderr } = run(['yesterday'])
    assert.deepEqual([status, stderr], [2, 'Usage: backup.sh regularly | once | recent | restore FILE\n'])
  })
})
