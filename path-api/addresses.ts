import { table } from './table.ts'

/** Where a record of a kind is shown by itself: below the list that it is added to. */
const templates = new Map(
  table.flatMap(({ kind, path, reply: [status] }): [string, string][] => {
    if (kind === undefined || status !== 201) return []
    const one = table.find(
      (operation) =>
        operation.method === 'get' &&
        /^\/\{\w+\}$/.test(operation.path.slice(path.length)) &&
        operation.path.startsWith(path),
    )
    return one ? [[kind, one.path]] : []
  }),
)

/** The path of a record of a class; undefined when none shows it by itself. */
export function addressOf(className: string, record: object): string | undefined {
  const { id, ehrId, carePlanId, goalId } = record as Record<string, string>
  const inPath: Record<string, string | undefined> = { ehrId, careplanId: carePlanId, goalId }
  const template = templates.get(className)
  const filled = template
    ?.replace(/\{(\w+)\}$/, id ?? '')
    .replace(/\{(\w+)\}/g, (_, name) => inPath[name] ?? '')
  return filled?.includes('//') ? undefined : filled
}
