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

/** Returns the path of a record; undefined if no operation shows it. */
export function recordPathOf(className: string, record: object): string | undefined {
  const fields = record as Partial<Record<string, string>>
  const { id, ehrId, carePlanId: careplanId, goalId } = fields
  const inPath: Partial<Record<string, string>> = { ehrId, careplanId, goalId }
  const template = PATH_TEMPLATES.get(className)
  const filled = template
    // Most kinds are addressed by the id, others by a field with the name of the parameter.
    ?.replace(
      /\{(\w+)\}$/,
      (_, name) => (/Id$/.test(name) ? id : encodeURIComponent(fields[name] ?? '')) ?? '',
    )
    .replace(/\{(\w+)\}/g, (_, name) => inPath[name] ?? '')
  return filled?.includes('//') || filled?.endsWith('/') ? undefined : filled
}
