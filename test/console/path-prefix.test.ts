import assert from 'node:assert/strict'
import { createServer, request, type Server } from 'node:http'
import type { Page, Request } from 'playwright-core'
import { freePort } from '../harness/service/port.ts'
import { type ServiceProcess, startServiceProcess, stopProcess } from '../harness/service/service-process.ts'
import { credentials, registerAt } from './interruptions/registered-person.ts'
import { assertNoFaults, button, logInOn, menu, useConsoleBrowser } from './open-console.ts'

/** Notes what a page asks for outside of the path. */
function watchRequests(page: Page, url: string): string[] {
  const outside: string[] = []
  page.on('request', (request: Request) => {
    if (!request.url().startsWith(`${url}/`)) outside.push(request.url())
  })
  return outside
}

/** Serves several services as one origin, as a reverse proxy does: by the beginning of their paths. */
function startProxy(port: number, portsByPath: Record<string, number>): Server {
  const server = createServer((incoming, response) => {
    const { method, headers, url = '' } = incoming
    const to = { port: portsByPath[url.slice(0, 2)], host: '127.0.0.1', path: url, method, headers }
    const outgoing = request(to, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
  return server.listen(port, '127.0.0.1')
}

describe('two consoles below the paths of one origin', () => {
  const opened = useConsoleBrowser()
  const services: ServiceProcess[] = []
  const urls: string[] = []
  let proxy: Server
  before(async () => {
    const [port, a, b] = await Promise.all([freePort(), freePort(), freePort()])
    proxy = startProxy(port, { '/h': a, '/b': b })
    for (const [path, PORT] of Object.entries({ health: a, b })) {
      const url = `http://127.0.0.1:${port}/${path}`
      const service = await startServiceProcess({ PORT: String(PORT), PUBLIC_URL: url })
      services.push(service)
      urls.push(url)
      await registerAt({ ...service, url })
    }
  })
  after(async () => {
    for (const one of services) await stopProcess(one)
    proxy?.closeAllConnections()
    proxy?.close()
  })

  it('are led to, and keep the session and all requests there', async () => {
    const [url = ''] = urls
    const page = await opened.open({ url })
    const outside = watchRequests(page, url)
    assert.ok(page.url().startsWith(`${url}/console`), page.url())
    await logInOn(page, credentials)
    await menu(page, 'Measure').click()
    await page.getByRole('main').getByRole('link', { name: 'Heart rate' }).click()
    await page.getByLabel('Heart rate', { exact: true }).fill('72')
    await button(page, 'Save').click()
    await page.getByText('Heart rate 72 per minute').waitFor()
    await page.reload()
    await menu(page, 'My record').click()
    await page.getByRole('heading', { name: 'My record' }).waitFor()
    assert.ok(page.url().startsWith(`${url}/console/record`), page.url())
    assert.deepEqual(outside, [])
    assertNoFaults(page)
  })

  it('keep their sessions and drafts apart', async () => {
    const [a, b] = urls as [string, string]
    const first = await opened.open({ url: a })
    await logInOn(first, credentials)
    const second = await opened.open({ url: b }, first.context())
    assert.equal(await second.getByRole('heading').first().textContent(), 'Log in')
    await logInOn(second, credentials)
    await first.evaluate("document.title = 'not loaded again'")
    await button(second, 'Log out').click()
    await second.getByRole('heading', { name: 'Log in' }).waitFor()
    assert.equal(await first.title(), 'not loaded again')
    await menu(first, 'My record').click()
    await first.getByRole('heading', { name: 'My record' }).waitFor()
    await first.reload()
    await menu(first, 'My record').waitFor()
    const stored = (await first.evaluate('Object.keys(localStorage)')) as string[]
    assert.deepEqual(
      stored.filter((key) => !key.startsWith('/health/console:')),
      [],
    )
    for (const page of [first, second]) assertNoFaults(page)
  })
})
