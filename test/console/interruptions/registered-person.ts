import type { ServiceProcess } from '../../harness/service/service-process.ts'
import { waitFor } from '../../harness/wait.ts'

export const credentials = { email: 'anna@example.org', password: 'correct horse battery staple' }

/** Registers somebody, whose link the service writes to its log. */
export async function registerAt({ url, output }: Pick<ServiceProcess, 'url' | 'output'>): Promise<void> {
  const body = JSON.stringify({ ...credentials, name: 'Anna' })
  const headers = { 'content-type': 'application/json' }
  await fetch(`${url}/auth/account/register/password`, { method: 'POST', headers, body })
  const token = await waitFor(() => /activation\?token=([\w-]+)/.exec(output())?.[1], 'a mailed link')
  const activationBody = JSON.stringify({ token, termsAccepted: true })
  await fetch(`${url}/auth/account/register/activate`, { method: 'POST', headers, body: activationBody })
}
