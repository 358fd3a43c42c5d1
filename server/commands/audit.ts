import { type Progress, type Verdict, verifyAudit } from '../../records/store/audit/verifier.ts'
import { readConfig } from '../config/config.ts'
import { openDatabase } from '../database/database.ts'
import { clientAtStart } from '../database/replica-set.ts'

const usage = `Usage: npm run audit -- verify

Checks that no entry of the audit was changed, removed or added since the service wrote it, and says at which one the
first chain breaks. Exit code 0: the audit is intact; 1: it is broken; 2: it could not be checked.
It reads the environment variables of the service, which can keep running.

Keep its output outside of the database: the number of entries never decreases, except by AUDIT_DAYS.
`

async function main(): Promise<number> {
  if (process.argv[2] !== 'verify') {
    process.stdout.write(usage)
    return process.argv[2] === '--help' ? 0 : 2
  }
  const config = readConfig(process.env, false)
  const database = await openDatabase(config, true)
  const client = clientAtStart(database.uri)
  try {
    const verdict = await verifyAudit(client.db(), config.auditKey, say)
    if (!verdict.broken && verdict.instances === 0)
      throw new Error('it is empty, although every start of the service leaves an entry in it.')
    process.stdout.write(sentence(verdict))
    return verdict.broken ? 1 : 0
  } finally {
    await client.close()
    await database.close()
  }
}

const say = ({ entries, of }: Progress): void => {
  process.stderr.write(`${entries} of about ${of} entries checked\n`)
}

function sentence({ instances, chains, entries, broken }: Verdict): string {
  const found = broken ? `BROKEN at ${broken.at}: ${broken.reason}` : 'Intact'
  return `${found}. Checked: entries ${entries}, chains ${chains}, runs of the service ${instances}.\n`
}

main().then(
  (code) => {
    process.exitCode = code
  },
  (error: unknown) => {
    process.stderr.write(`The audit could not be checked: ${(error as Error).message}\n`)
    process.exitCode = 2
  },
)
