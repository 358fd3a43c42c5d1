import assert from 'node:assert/strict'
import { createCompositionViews } from '../../openehr/composition-views/create-views.ts'
import { CLASS_NAMES, classKindOf } from '../../records/kinds.ts'
import { runAuditCommand } from '../../server/commands/audit.ts'
import { runCommand } from '../harness/in-process/run-command.ts'
import { config, service as current } from '../harness/service/service.ts'
import { type ServiceProcess, startServiceProcess, stopProcess } from '../harness/service/service-process.ts'
import { isFullSize } from '../harness/test-size.ts'
import { waitUntil } from '../harness/wait.ts'
import { createReleasedDataDir, latestVersion, readStoredIds, releasedVersions } from './released-data.ts'
import { answersOf, logIn, register, type Session, storeSample } from './sample-data.ts'

/** The responses for a new account with the same data. */
async function answersOfNew(version: string, steps: readonly string[]): Promise<Record<string, unknown>> {
  const target = { url: current.url, dataDir: config.dataDir }
  const email = `ann@${version}.example.org`
  await register(target, email)
  const session = await logIn(target, {}, email)
  return await answersOf(await logIn(target, await storeSample(session, steps), email))
}

/** Resolves when the service has brought its data up to date. */
async function upToDate({ url }: ServiceProcess): Promise<void> {
  await waitUntil(async () => {
    const metrics = await (await fetch(`${url}/metrics`)).text()
    return /^derived_data_pending_documents 0$/m.test(metrics)
  })
}

/** A template as it was stored. */
async function readTemplateXml({ target, headers }: Session, templateId: string): Promise<string> {
  const path = `/med/knowledge/template/${templateId}`
  const answer = await fetch(target.url + path, { headers: { ...headers, Accept: 'application/xml' } })
  return answer.text()
}

describe('a released version', function suite() {
  this.timeout(120_000)
  let service: ServiceProcess | undefined

  afterEach(async () => {
    if (service) await stopProcess(service)
    service = undefined
  })

  for (const version of releasedVersions) {
    const isKilled = isFullSize || version === latestVersion
    const after = isKilled ? ', after a kill -9 at the start' : ''
    it(`${version}: its data gives every answer that the same data gives when stored today${after}`, async () => {
      const stored = readStoredIds(version)
      const DATA_DIR = createReleasedDataDir(version)
      if (isKilled) {
        const killed = await startServiceProcess({ DATA_DIR })
        killed.child.kill('SIGKILL')
        await killed.ended
      }
      service = await startServiceProcess({ DATA_DIR })
      await upToDate(service)
      const session = await logIn(service, stored)
      const answers = await answersOf(session)
      const expected = await answersOfNew(version, Object.keys(stored))
      for (const door of Object.keys(expected)) assert.deepEqual(answers[door], expected[door], door)
      for (const { head, createTemplate } of createCompositionViews(CLASS_NAMES.map(classKindOf)))
        assert.equal(await readTemplateXml(session, head.templateId), createTemplate(), head.templateId)
      await stopProcess(service)
      const { code, output } = await runCommand(runAuditCommand, ['verify'], { DATA_DIR })
      assert.equal(code, 0, output)
    })
  }
})
