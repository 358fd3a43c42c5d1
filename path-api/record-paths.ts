import { deletableKinds } from '../records/kinds.ts'
import { operationTable } from './operation-table.ts'

/** Path templates of single records by class: from the PUT operation, or below the list. */
const PATH_TEMPLATES = new Map([
  ...operationTable.flatMap(({ kind, path, creates, reply: [status] }): [string, string][] => {
    if (kind === undefined || !(status === 201 || creates)) return []
    const one = operationTable.find((operation) => {
      const isBelow = operation.path.startsWith(path) && /^\/\{\w+\}$/.test(operation.path.slice(path.length))
      const isThere = creates && operation.path === path && path.endsWith('}')
      return operation.method === 'get' && (isBelow || isThere)
    })
    return one ? [[kind, one.path]] : []
  }),
  ['Composition', '/med/ehr/{ehrId}/composition/{compositionId}'] as const,
])

/** Path templates of records with a history, without `/history`. */
const HISTORY_TEMPLATES = new Map(
  [...deletableKinds.keys()].flatMap((kind): [string, string][] => {
    const id = kind === 'Composition' ? 'listCompositionVersions' : `list${kind}Changes`
    const operation = operationTable.find((one) => one.id === id)
    return operation ? [[kind, operation.path.replace(/\/history$/, '')]] : []
  }),
)

/** Returns the path of a record; undefined if no operation shows it. */
export const recordPathOf = (className: string, record: object): string | undefined =>
  // Most kinds are addressed by the id, others by a field with the name of the parameter.
  fillTemplate(PATH_TEMPLATES.get(className), record, (name, fields) =>
    /Id$/.test(name) ? fields.id : encodeURIComponent(fields[name] ?? ''),
  )

/** Returns the path of the history of a record, deleted or not; undefined if its kind has none. */
export function historyPathOf(kind: string, record: object): string | undefined {
  // Another record may have the natural key of a deleted one.
  const path = fillTemplate(HISTORY_TEMPLATES.get(kind), record, (_, { id }) => id)
  return path && `${path}/history`
}

type Fields = Partial<Record<string, string>>

function fillTemplate(
  template: string | undefined,
  record: object,
  ownKeyOf: (name: string, fields: Fields) => string | undefined,
): string | undefined {
  const fields = record as Fields
  const { ehrId, carePlanId: careplanId, goalId } = fields
  const inPath: Fields = { ehrId, careplanId, goalId }
  const path = template
    ?.replace(/\{(\w+)\}$/, (_, name) => ownKeyOf(name, fields) ?? '')
    .replace(/\{(\w+)\}/g, (_, name) => inPath[name] ?? '')
  return path?.includes('//') || path?.endsWith('/') ? undefined : path
}
