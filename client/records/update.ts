import { isProblem } from '../request/problem.ts'

interface Read<State> {
  data: State
  response: Response
}

const MAX_CONFLICTS = 10

/**
 * Reads, changes and writes a record with If-Match. After a conflict it reads and asks again.
 * @param change computes the new state; undefined leaves the record as it is
 */
export async function updateRecord<State, Next>(
  read: () => Promise<Read<State>>,
  write: (next: Next, etag: string) => Promise<Read<State>>,
  change: (current: State, conflict: State | undefined) => Next | undefined | Promise<Next | undefined>,
): Promise<State> {
  let previousState: State | undefined
  for (let conflicts = 0; ; conflicts++) {
    const { data, response } = await read()
    const next = await change(data, previousState)
    if (next === undefined) return data
    try {
      return (await write(next, response.headers.get('etag') ?? '')).data
    } catch (error) {
      if (!isProblem(error, 'precondition-failed') || conflicts === MAX_CONFLICTS) throw error
      previousState = data
    }
  }
}
