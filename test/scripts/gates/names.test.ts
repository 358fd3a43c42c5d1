import assert from 'node:assert/strict'
import { runGate } from './project.ts'

const FAULTLESS = {
  'client/session.ts': 'export class Session {}\n',
  // Another program.
  'console/session.tsx': 'export function Session() {}\n',
  'server/mail-queue.ts': 'export const MAIL_LEASE_MS = 60_000\nexport class MailQueue {}\n',
  'test/mail-queue.test.ts': "it('sends a mail once', () => {})\n",
}

describe('npm run names', () => {
  const check = (files: Record<string, string>) => runGate('names.mjs', files)

  it('accepts good names, also those of another program, a re-export, constants that are not times, and blocks of code', () => {
    const { status, stderr } = check({
      ...FAULTLESS,
      'server/queues.ts':
        "export { MailQueue } from './mail-queue.ts'\nexport const MAX_MAILS_PER_HOUR = 5\n",
      'server/mails.ts': 'export const sendMail = () => {}\n',
      'docs/mails.md': '`sendMail` sends a mail:\n\n```js\nsendMail(toAnn)\n```\n',
    })
    assert.deepEqual([status, stderr], [0, ''])
  })

  const faults = [
    [
      'a name with two meanings',
      { 'records/mail-queue.ts': 'export interface MailQueue {}\n' },
      'server/mail-queue.ts:2: records/mail-queue.ts exports MailQueue, too: rename one of them by what it is',
    ],
    [
      'a timer without a unit',
      { 'server/timer.ts': 'const LIMIT = 5 * 1000\nexport const timer = setTimeout(send, LIMIT)\n' },
      'server/timer.ts:1: LIMIT: a time says its unit at the end, _MS or _S',
    ],
    [
      'a time that does not say what it limits',
      { 'server/lease.ts': 'export const LEASE_MS = 5000\n' },
      'server/lease.ts:1: LEASE_MS: begin with what it limits, as in MAIL_LEASE_MS',
    ],
    [
      'two values by one name',
      { 'server/leases.ts': 'const MAIL_LEASE_MS = 7\nexport const leases = MAIL_LEASE_MS\n' },
      'server/mail-queue.ts:1: MAIL_LEASE_MS has another value in server/leases.ts: say in each name what it limits',
    ],
    [
      'a limit without MAX',
      { 'server/mails.ts': 'export const MOST_MAILS = 7\n' },
      'server/mails.ts:1: MOST_MAILS: the name of a limit begins with MAX_ or MIN_',
    ],
    [
      'a file that is named for something else',
      { 'server/upkeep.ts': 'export function removeOldMails() {}\n' },
      'server/upkeep.ts:1: no export resembles upkeep.ts: name the file by what it exports, here removeOldMails',
    ],
    [
      'a variable that is named by a participle',
      { 'server/senders.ts': "const known = ['a']\nexport const senders = known\n" },
      'server/senders.ts:1: known: say what it is, by a noun, as in knownIds',
    ],
    [
      'a parameter that does not say what was found',
      { 'server/counts.ts': 'export const countOf = (found: string[]) => found.length\n' },
      'server/counts.ts:1: found: say what it is, by a noun, as in knownIds',
    ],
    [
      'a private member that is named by a participle',
      { 'server/readers.ts': 'export class Readers {\n  #seen = 0\n}\n' },
      'server/readers.ts:2: seen: say what it is, by a noun, as in knownIds',
    ],
    [
      'a variable of a test that is named by an adjective',
      { 'test/lists.test.ts': 'const all = [1]\n' },
      'test/lists.test.ts:1: all: say what it is, by a noun, as in knownIds',
    ],
    [
      'a title without a verb or subject',
      { 'test/mails.test.ts': "it('sent once', () => {})\n" },
      'test/mails.test.ts:1: begin the title with its verb or subject, not with "sent": \'sent once\'',
    ],
    [
      'code in a document that is gone',
      {
        'docs/mails.md':
          'A mail:\n\n```js\nsendMail()\n```\n\nFor several, see `queue.sendAll()` and `postMail`.\n',
      },
      'docs/mails.md:7: postMail: no source contains this name; name what the code has now',
    ],
  ] as const

  describe('in a project with one fault of each kind', () => {
    let status: number | null
    let findings: string[]
    before(() => {
      const faulty = check(Object.assign({}, FAULTLESS, ...faults.map(([, files]) => files)))
      status = faulty.status
      findings = faulty.stderr.trimEnd().split('\n')
    })

    for (const [fault, , finding] of faults)
      it(`names ${fault}, with the remedy`, () => {
        assert.ok(findings.includes(finding), findings.join('\n'))
      })

    it('names nothing else, and exits with 1', () => {
      assert.deepEqual([status, findings.length], [1, faults.length], findings.join('\n'))
    })
  })

  it('fails if it finds no files', () => {
    const { status, stderr } = check({})
    assert.equal(status, 1)
    assert.match(stderr, /No files were found/)
  })
})
