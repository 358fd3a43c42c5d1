import { type Client, createClient, type Problem } from 'health-record-client'
import { SERVICE_NAME } from '../../schemas/text/service-name.ts'

export interface ImportLogin {
  url: string
  /** Where the URL was configured, as the end of a sentence. */
  urlSource: string
  email: string
  password: string
}

const MAX_ATTEMPTS = 8
/** Equals the window of the login limit. */
const MAX_WAIT_MS = 300_000

/** Whether the client has retried. */
const isPassing = ({ status }: Problem): boolean => status === 0 || status === 429 || status > 500

/**
 * Logs in. The client waits during outages and when the service asks for it.
 * @param tell called for each wait, which may take minutes
 * @throws Error
 */
export async function connectToService(
  { url, urlSource, email, password }: ImportLogin,
  tell: (waiting: string) => void,
): Promise<Client> {
  const place = `${url} (from ${urlSource})`
  const describe = ({ status, message }: Problem): string =>
    status === 0 ? message.replace('The service', place) : `${place} responds with the status ${status}`
  const hintOf = ({ status }: Problem) => (status === 0 ? ' Another URL: --url' : '')
  const onWait = (problem: Problem, waitMs: number) =>
    tell(`${describe(problem)}; next attempt in ${Math.ceil(waitMs / 1000)} s.${hintOf(problem)}`)
  const client = createClient({
    url,
    retry: { attempts: MAX_ATTEMPTS, maxWaitMs: MAX_WAIT_MS, onWait },
    timeoutMs: MAX_ATTEMPTS * MAX_WAIT_MS,
  })
  const grant = await client.logIn({ email, password }).catch((problem: Problem) => {
    if (problem.code === 'not-json') return undefined
    throw new Error(
      isPassing(problem)
        ? `${describe(problem)}, in ${MAX_ATTEMPTS} attempts.${hintOf(problem)}`
        : `The login failed: ${problem.title}.`,
    )
  })
  if (!grant?.authToken) throw new Error(`The server at ${url} is not a ${SERVICE_NAME}. Another URL: --url`)
  return client
}
