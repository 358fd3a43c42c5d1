import type { Db, Document } from 'mongodb'
import { ehrRole, ehrRoles, planRoles } from '../../../records/ehrs/rights/access.ts'
import { kinds } from '../../../records/kinds.ts'

/** The whole content of the database, by collection. */
export type DatabaseState = Map<string, Document[]>

export const CLINICAL: readonly string[] = kinds.map(({ collection }) => collection)

const OTHER_COLLECTIONS = [
  'work.underway',
  'ehr.removed',
  'history.changes',
  'audit.entries',
  'chat.read',
  'mails',
  '_User',
  '_Role',
]
const JOIN_COLLECTIONS = ['_Join:users:_Role', '_Join:roles:_Role']

export async function readDatabaseState(db: Db): Promise<DatabaseState> {
  const state: DatabaseState = new Map()
  for (const name of [...CLINICAL, ...OTHER_COLLECTIONS, ...JOIN_COLLECTIONS])
    state.set(name, await db.collection(name).find().toArray())
  return state
}

export const documentsIn = (state: DatabaseState, name: string): Document[] => state.get(name) ?? []

/** Whether readers must wait, because a job is unfinished. */
export const isJobAwaited = (state: DatabaseState, subjectId: string): boolean =>
  documentsIn(state, 'work.underway').some(
    ({ waiting, ehrId }) =>
      waiting &&
      documentsIn(state, 'Ehr').some(({ _id, ...ehr }) => _id === ehrId && ehr.subjectId === subjectId),
  )

/** Whether anybody can see it. */
const isVisible = ({ _rperm }: Document): boolean =>
  _rperm?.length > 0 && !/^removed(-\w+)?:/.test(String(_rperm[0]))

/**
 * All data about a person, one line for each record, membership and mail. Versions and times are left out,
 * and names replace the ids of existing records. So two people with the same course look the same, unless an
 * id refers to a missing record.
 */
export function describeVisible(state: DatabaseState, subjectId: string): string[] {
  const hidden = documentsIn(state, 'work.underway').filter(({ waiting }) => !waiting)
  const isHidden = (one: Document) =>
    hidden.some(({ field, id, hidesPlan }) => one[field] === id || (hidesPlan && one._id === id))
  const ehrs = documentsIn(state, 'Ehr').filter((ehr) => ehr.subjectId === subjectId && isVisible(ehr))
  const removed = documentsIn(state, 'ehr.removed').filter(({ document }) => document.subjectId === subjectId)
  const ehrIds = new Set([...ehrs, ...removed].map(({ _id }) => String(_id)))
  const records = CLINICAL.flatMap((name) =>
    name === 'Ehr'
      ? []
      : documentsIn(state, name)
          .filter((one) => ehrIds.has(one.ehrId) && isVisible(one) && !isHidden(one))
          .map((one) => ({ name, one })),
  )
  const words = new Map<string, string>([[subjectId, 'subject']])
  for (const id of ehrIds) words.set(id, 'EHR')
  // The settings of a plan have the plan's id.
  for (const { name, one } of records) if (!words.has(one._id)) words.set(one._id, name)
  const guests = documentsIn(state, '_User').filter(({ email }) =>
    email.endsWith(`@${subjectId}.example.org`),
  )
  for (const { _id, email } of guests) words.set(_id, email.split('@')[0])
  for (const { _id, email } of documentsIn(state, '_User'))
    if (email.startsWith('nurse')) words.set(_id, 'nurse')

  const planIds = records.filter(({ name }) => name === 'CarePlan').map(({ one }) => String(one._id))
  const lines = [
    ...ehrs.map((one) => `Ehr ${describeDocument(one)}`),
    ...removed.map(() => 'removed EHR'),
    ...records.map(({ name, one }) => `${name} ${describeDocument(one)}`),
    ...documentsIn(state, 'chat.read')
      .filter(({ topicId }) => words.has(topicId))
      .map((mark) => `read mark ${describeDocument(mark)}`),
    ...(ehrs.length > 0 ? describeRoleMembers(state, [...ehrIds], planIds) : []),
    ...documentsIn(state, 'mails')
      .filter(({ to }) => guests.some(({ email }) => email === to))
      .map(({ to, template }) => `mail ${template} to ${to.split('@')[0]}`),
  ]
  return lines.map((line) => replaceIds(line, words)).sort()
}

/** The members of roles that grant access, and a check that Parse Server can use the roles. */
function describeRoleMembers(state: DatabaseState, ehrIds: string[], planIds: string[]): string[] {
  const ofPlans = planIds.flatMap(planRoles)
  const ofEhr = ehrIds.flatMap(ehrRoles)
  const roles = new Set(documentsIn(state, '_Role').map(({ _id }) => String(_id)))
  const within = new Set(
    documentsIn(state, '_Join:roles:_Role').map(({ owningId, relatedId }) => `${relatedId} in ${owningId}`),
  )
  return documentsIn(state, '_Join:users:_Role')
    .filter(({ owningId }) => [...ofPlans, ...ofEhr].includes(owningId))
    .map(({ owningId, relatedId }) => {
      const ofEhrToo = ehrIds.some((id) => within.has(`${owningId} in ${ehrRole(id, 'read')}`))
      return `${relatedId} holds ${owningId}${roles.has(owningId) ? '' : ', which is not there'}${ofEhrToo ? ', and so reads the EHR' : ''}`
    })
}

/** The watch over alerts removes `attentionAt` a second after the write. */
const LEFT_OUT_FIELDS = new Set(['_id', 'version', '_created_at', '_updated_at', '_acl', 'attentionAt'])

const describeDocument = (document: Document): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(document)
        .filter(([name]) => !LEFT_OUT_FIELDS.has(name))
        .map(([name, value]) => [name, value instanceof Date ? 'a time' : withoutCommitTimes(value)])
        .sort(([a], [b]) => String(a).localeCompare(String(b))),
    ),
  )

/** The JSON of a contribution contains its time. */
const withoutCommitTimes = (value: unknown): unknown =>
  typeof value === 'string' ? value.replace(/("time_committed":\{[^}]*"value":")[^"]*/g, '$1a time') : value

function replaceIds(line: string, words: Map<string, string>): string {
  let worded = line
  for (const [id, word] of words) worded = worded.replaceAll(id, word)
  return worded
}
