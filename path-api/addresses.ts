import { table } from './table.ts'

/** Where a record of a kind is shown by itself: where it is put, or below the list that it is added to. */
const templates = new Map(
  table.flatMap(({ kind, path, creates, reply: [status] }): [string, string][] => {
    if (kind === undefined || !(status === 201 || creates)) return []
    const one = table.find((operation) => {
      const isBelow = operation.path.startsWith(path) && /^\/\{\w+\}$/.test(operation.path.slice(path.length))
      const isThere = creates && operation.path === path && path.endsWith('}')
      return operation.method === 'get' && (isBelow || isThere)
    })
    return one ? [[kind, one.path]] : []
  }),
)

/** The path of a record of a class; undefined when none shows it by itself. */
export function addressOf(className: string, record: object): string | undefined {
  const fields = record as Partial<Record<string, string>>
  const { id, ehrId, carePlanId: careplanId, goalId } = fields
  const inPath: Partial<Record<string, string>> = { ehrId, careplanId, goalId }
  const template = templates.get(className)
  const filled = template
    // Most kinds go by their id; what goes by a name has a field of that name.
    ?.replace(
      /\{(\w+)\}$/,
      (_, name) => (/Id$/.test(name) ? id : encodeURIComponent(fields[name] ?? '')) ?? '',
    )
    .replace(/\{(\w+)\}/g, (_, name) => inPath[name] ?? '')
  return filled?.includes('//') || filled?.endsWith('/') ? undefined : filled
}
