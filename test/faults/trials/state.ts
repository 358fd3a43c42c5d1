import type { Db, Document } from 'mongodb'
import { ehrRole, ehrRoles, planRoles } from '../../../records/ehrs/rights/access.ts'
import { kinds } from '../../../records/kinds.ts'

/** Everything that the database holds, by collection. */
export type State = Map<string, Document[]>

export const CLINICAL: readonly string[] = kinds.map(({ collection }) => collection)

const OTHERS = [
  ...['work.underway', 'ehr.removed', 'history.changes', 'audit.entries', 'chat.read', 'mails'],
  ...['_User', '_Role'],
]
const JOINS = ['_Join:users:_Role', '_Join:roles:_Role']

export async function readState(db: Db): Promise<State> {
  const state: State = new Map()
  for (const name of [...CLINICAL, ...OTHERS, ...JOINS])
    state.set(name, await db.collection(name).find().toArray())
  return state
}

export const all = (state: State, name: string): Document[] => state.get(name) ?? []

/** Whether who looks has to wait, since something is half done. */
export const isAwaited = (state: State, subjectId: string): boolean =>
  all(state, 'work.underway').some(
    ({ waiting, ehrId }) =>
      waiting && all(state, 'Ehr').some(({ _id, ...ehr }) => _id === ehrId && ehr.subjectId === subjectId),
  )

/** Whether anybody can see it. */
const isThere = ({ _rperm }: Document): boolean =>
  _rperm?.length > 0 && !String(_rperm[0]).startsWith('removed:')

/**
 * What there is about a person, one line for each record, membership and mail: without versions and times, and with
 * words for the ids of what is there. Two who went through the same look the same; an id of something that is not
 * there stays, and they do not.
 */
export function seen(state: State, subjectId: string): string[] {
  const hidden = all(state, 'work.underway').filter(({ waiting }) => !waiting)
  const isHidden = (one: Document) =>
    hidden.some(({ field, id, hidesPlan }) => one[field] === id || (hidesPlan && one._id === id))
  const ehrs = all(state, 'Ehr').filter((ehr) => ehr.subjectId === subjectId && isThere(ehr))
  const removed = all(state, 'ehr.removed').filter(({ document }) => document.subjectId === subjectId)
  const ehrIds = new Set([...ehrs, ...removed].map(({ _id }) => String(_id)))
  const records = CLINICAL.flatMap((name) =>
    name === 'Ehr'
      ? []
      : all(state, name)
          .filter((one) => ehrIds.has(one.ehrId) && isThere(one) && !isHidden(one))
          .map((one) => ({ name, one })),
  )
  const words = new Map<string, string>([[subjectId, 'subject']])
  for (const id of ehrIds) words.set(id, 'EHR')
  // The settings of a plan have its id.
  for (const { name, one } of records) if (!words.has(one._id)) words.set(one._id, name)
  const guests = all(state, '_User').filter(({ email }) => email.endsWith(`@${subjectId}.example.org`))
  for (const { _id, email } of guests) words.set(_id, email.split('@')[0])
  for (const { _id, email } of all(state, '_User')) if (email.startsWith('nurse')) words.set(_id, 'nurse')

  const planIds = records.filter(({ name }) => name === 'CarePlan').map(({ one }) => String(one._id))
  const lines = [
    ...ehrs.map((one) => `Ehr ${told(one)}`),
    ...removed.map(() => 'removed EHR'),
    ...records.map(({ name, one }) => `${name} ${told(one)}`),
    ...all(state, 'chat.read')
      .filter(({ topicId }) => words.has(topicId))
      .map((mark) => `read mark ${told(mark)}`),
    ...(ehrs.length > 0 ? members(state, [...ehrIds], planIds) : []),
    ...all(state, 'mails')
      .filter(({ to }) => guests.some(({ email }) => email === to))
      .map(({ to, template }) => `mail ${template} to ${to.split('@')[0]}`),
  ]
  return lines.map((line) => withWords(line, words)).sort()
}

/** Of roles that grant something: who holds them, and whether they are as Parse Server needs them. */
function members(state: State, ehrIds: string[], planIds: string[]): string[] {
  const ofPlans = planIds.flatMap(planRoles)
  const ofEhr = ehrIds.flatMap(ehrRoles)
  const roles = new Set(all(state, '_Role').map(({ _id }) => String(_id)))
  const within = new Set(
    all(state, '_Join:roles:_Role').map(({ owningId, relatedId }) => `${relatedId} in ${owningId}`),
  )
  return all(state, '_Join:users:_Role')
    .filter(({ owningId }) => [...ofPlans, ...ofEhr].includes(owningId))
    .map(({ owningId, relatedId }) => {
      const ofEhrToo = ehrIds.some((id) => within.has(`${owningId} in ${ehrRole(id, 'read')}`))
      return `${relatedId} holds ${owningId}${roles.has(owningId) ? '' : ', which is not there'}${ofEhrToo ? ', and so reads the EHR' : ''}`
    })
}

const UNTOLD = new Set(['_id', 'version', '_created_at', '_updated_at', '_acl'])

const told = (document: Document): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(document)
        .filter(([name]) => !UNTOLD.has(name))
        .map(([name, value]) => [name, value instanceof Date ? 'a time' : value])
        .sort(([a], [b]) => String(a).localeCompare(String(b))),
    ),
  )

function withWords(line: string, words: Map<string, string>): string {
  let worded = line
  for (const [id, word] of words) worded = worded.replaceAll(id, word)
  return worded
}
