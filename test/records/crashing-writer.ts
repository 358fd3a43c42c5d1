/**
 * A service that dies: opens records on an engine, and kills itself with SIGKILL at the n-th moment of two writes, the
 * first one of two records; each command to the database is two moments, sent and answered.
 *
 *     node crashing-writer.js <uri> <database> <moment> <id>
 */
import { MongoClient } from 'mongodb'
import { openAudit } from '../../records/audit.ts'
import { inTransaction, type Records } from '../../records/transaction.ts'
import { callerOf, KEY, noteStore } from './records.ts'

const [uri = '', database, moment, id = ''] = process.argv.slice(2)
const client = new MongoClient(uri, { monitorCommands: true })
const db = client.db(database)
const clock = () => new Date()
const records: Records = {
  client,
  db,
  clock,
  audit: await openAudit({ db, key: KEY, clock, onFault: () => {} }),
}
const notes = noteStore(records)
const caller = callerOf('subject')
const permissions = { read: ['subject'], write: ['subject'] }

await notes.create(caller, { ehrId: id, text: 'first' }, permissions, { id })

let left = Number(moment)
const count = () => {
  left -= 1
  if (left === 0) process.kill(process.pid, 'SIGKILL')
}
client.on('commandStarted', count)
client.on('commandSucceeded', count)
await inTransaction(records, async (tx) => {
  await notes.update(caller, { id }, (now) => ({ ...now, text: 'second' }), { tx })
  await notes.create(caller, { ehrId: id, text: 'beside' }, permissions, { tx })
})
await notes.update(caller, { id }, (now) => ({ ...now, text: 'third' }))
process.stdout.write('acknowledged')
process.exit(0)
