import { isProblem } from '../request/problem.ts'
import { isLost } from '../request/retry.ts'

interface Read<State> {
  data: State
  response: Response
}

type Fields = Record<string, unknown>

const MAX_CONFLICTS = 10

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** Whether the record has the version after the one that was changed, and each value that the change gave it. */
function isWritten({ data, response }: Read<Fields>, next: Fields, before: Read<Fields>): boolean {
  const version = Number(before.response.headers.get('etag')?.replaceAll('"', ''))
  if (response.headers.get('etag') !== `"${version + 1}"`) return false
  const names = Object.keys(next)
  const changedNames = names.filter((name) => !isSame(next[name], before.data[name]))
  return changedNames.length > 0 && changedNames.every((name) => isSame(next[name], data[name]))
}

/**
 * Reads, changes and writes a record with If-Match. After a conflict it reads and asks again. After a network fault it
 * does not ask again, since the record may have changed already: it looks.
 * @param change computes the new state; undefined leaves the record as it is
 */
export async function updateRecord<State, Next>(
  read: () => Promise<Read<State>>,
  write: (next: Next, etag: string) => Promise<Read<State>>,
  change: (current: State, conflict: State | undefined) => Next | undefined | Promise<Next | undefined>,
): Promise<State> {
  let previousState: State | undefined
  for (let conflicts = 0; ; conflicts++) {
    const before = await read()
    const next = await change(before.data, previousState)
    if (next === undefined) return before.data
    try {
      return (await write(next, before.response.headers.get('etag') ?? '')).data
    } catch (error) {
      if (isProblem(error) && isLost(error)) {
        const current = await read()
        if (isWritten(current as Read<Fields>, next as Fields, before as Read<Fields>)) return current.data
      }
      if (!isProblem(error, 'precondition-failed') || conflicts === MAX_CONFLICTS) throw error
      previousState = before.data
    }
  }
}
