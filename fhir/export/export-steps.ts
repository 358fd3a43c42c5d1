import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Binary } from 'mongodb'
import { isGrantActive } from '../../records/accounts/apps/app-grants.ts'
import { findRolesOfUser, withoutAccountRoles } from '../../records/ehrs/rights/roles.ts'
import { formatFhirJson } from '../../records/fhir/decimal.ts'
import { mapInSlices, TimeSlice } from '../../records/limits/time-slice.ts'
import type { AuditedAccess } from '../../records/store/audit/audit-log.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { type Job, jobRequesterOf } from '../../records/store/documents/job.ts'
import type { JobHandler } from '../../records/store/jobs/background-jobs.ts'
import type { AuditedReads, StoreContext } from '../../records/store/writing/transaction.ts'
import type { ExportSource } from '../sources/resource-source.ts'
import {
  chunkCollection,
  chunkId,
  type ExportPosition,
  exportCollection,
  fromStoredPermit,
  removeExports,
  type StoredExport,
} from './stored-exports.ts'

/** Records of one query, after which a step may end. */
const PAGE_SIZE = 500
/** A step ends with the page that reaches one of these: long before the lease of the job does. */
const STEP_RESOURCES = 3000
const STEP_LENGTH = 4 * 1024 * 1024
const EXPORT_STEP_MS = 1000
/** Characters, which are compressed into one document of the database. A document has at most 16 MB. */
const CHUNK_LENGTH = 4 * 1024 * 1024

/** The lines that a step adds to the files of an export, and where the next one goes on. */
interface ExportStep {
  lines: Map<string, string[]>
  position: ExportPosition | null
  accesses: AuditedAccess[]
}

/**
 * Exports resources step by step. A step reads some pages and stores their lines, their entries in the audit and its
 * position in one transaction: another instance that resumes the job repeats nothing and misses nothing.
 */
export const exportInSteps =
  (context: StoreContext, sections: ReadonlyMap<string, ExportSource>): JobHandler =>
  async (job, steps) => {
    const exports = exportCollection(context.db)
    for (;;) {
      const storedExport = await exports.findOne({ _id: job.id })
      // It has been cancelled, has expired, or is complete.
      if (!storedExport?.position || storedExport.expiresAt <= context.clock()) break
      const { userId } = storedExport
      const app = storedExport.app && fromStoredPermit(storedExport.app)
      if (app && !(await isGrantActive(context, userId, app, context.clock()))) {
        await removeExports(context, { _id: storedExport._id })
        break
      }
      const step = await readStep(
        await callerOf(context, job, storedExport),
        storedExport,
        storedExport.position,
        sections,
      )
      const chunks = await createChunks(storedExport, step)
      const counts = { ...storedExport.counts }
      for (const [section, lines] of step.lines) counts[section] = (counts[section] ?? 0) + lines.length
      await steps.runStep(async ({ session, accesses }) => {
        accesses.push(...step.accesses)
        const filter = { _id: storedExport._id, steps: storedExport.steps }
        const progress = { $set: { position: step.position, counts }, $inc: { steps: 1 } }
        const { matchedCount } = await exports.updateOne(filter, progress, { session })
        if (matchedCount > 0 && chunks.length > 0)
          await chunkCollection(context.db).insertMany(chunks, { session })
      })
    }
    await steps.runLastStep()
  }

/** The user who requested the export, with the rights of this moment. */
async function callerOf(context: StoreContext, job: Job, { app }: StoredExport): Promise<Caller> {
  const requester = jobRequesterOf(job)
  const roles = await findRolesOfUser(context, requester.userId)
  return app
    ? { ...requester, roles: withoutAccountRoles(roles), app: fromStoredPermit(app) }
    : { ...requester, roles }
}

async function readStep(
  caller: Caller,
  storedExport: StoredExport,
  start: ExportPosition,
  sections: ReadonlyMap<string, ExportSource>,
): Promise<ExportStep> {
  const reads: AuditedReads = { accesses: [] }
  const lines = new Map<string, string[]>()
  const slice = new TimeSlice()
  const end = performance.now() + EXPORT_STEP_MS
  let position: ExportPosition | null = start
  let count = 0
  let length = 0
  while (position && count < STEP_RESOURCES && length < STEP_LENGTH && performance.now() < end) {
    const section = storedExport.sections[position.section] as string
    const ehrId = storedExport.ehrIds[position.patient] as string
    const { since, sections: types } = storedExport
    const page = { ehrId, types, since, after: position.after, limit: PAGE_SIZE }
    const source = sections.get(section) as ExportSource
    const { resources, next } = await source.exportPage(caller, page, reads)
    const newLines = await mapInSlices(resources, (one) => `${formatFhirJson(one)}\n`, slice)
    lines.set(section, [...(lines.get(section) ?? []), ...newLines])
    count += newLines.length
    for (const line of newLines) length += line.length
    position = positionAfter(position, next, storedExport)
  }
  return { lines, position, accesses: reads.accesses }
}

function positionAfter(
  { patient, section }: ExportPosition,
  next: string | undefined,
  { sections, ehrIds }: StoredExport,
): ExportPosition | null {
  if (next !== undefined) return { patient, section, after: next }
  if (section + 1 < sections.length) return { patient, section: section + 1, after: null }
  return patient + 1 < ehrIds.length ? { patient: patient + 1, section: 0, after: null } : null
}

/** Compresses the lines of a step, in parts that the database can store. */
async function createChunks({ _id, userId, expiresAt, steps }: StoredExport, { lines }: ExportStep) {
  const parts = [...lines].flatMap(([section, sectionLines]) =>
    joinLines(sectionLines).map((text, part) => ({ id: chunkId(_id, section, steps, part), text })),
  )
  return Promise.all(
    parts.map(async ({ id, text }) => ({
      _id: id,
      userId,
      expiresAt,
      content: new Binary(await promisify(gzip)(text, { level: 1 })),
    })),
  )
}

function joinLines(lines: readonly string[]): string[] {
  const texts: string[] = []
  let text = ''
  for (const line of lines) {
    text += line
    if (text.length < CHUNK_LENGTH) continue
    texts.push(text)
    text = ''
  }
  return text === '' ? texts : [...texts, text]
}
