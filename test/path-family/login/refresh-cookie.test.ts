import assert from 'node:assert/strict'
import { type Answer, assertProblem, assertStatus, call } from '../../harness/clients/path-client.ts'
import { createPerson, password } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

const ownPage = { 'sec-fetch-site': 'same-origin' }

const cookieOf = ({ headers }: Answer): string => headers.get('set-cookie') ?? ''
const sentCookie = (answer: Answer): string => cookieOf(answer).split(';')[0] ?? ''

const logInOnPage = (email: string) =>
  call('POST', '/auth/login/password', { email, password, refreshCookie: true })

const refresh = (cookie: string, headers: Record<string, string> = ownPage, body: object = {}) =>
  call('POST', '/auth/login/token', body, { cookie, ...headers })

describe('the refresh token of a page', () => {
  let email: string
  before(async () => {
    email = (await createPerson()).email
  })

  it('is in a cookie that scripts and other sites cannot use, and not in the body', async () => {
    const answer = await logInOnPage(email)
    const { refreshToken, sessionToken, authToken } = assertStatus(answer)
    assert.deepEqual([refreshToken, sessionToken, typeof authToken], [undefined, undefined, 'string'])
    assert.match(
      cookieOf(answer),
      /^refreshToken=[\w-]{43}; Path=\/auth; Max-Age=\d+; HttpOnly; Secure; SameSite=Strict$/,
    )
  })

  it('is exchanged for the next one by a page of the service', async () => {
    const first = await logInOnPage(email)
    const second = await refresh(sentCookie(first))
    assert.equal(assertStatus(second).refreshToken, undefined)
    assert.notEqual(sentCookie(second), sentCookie(first))
    const { authToken, mvUid } = assertStatus(await refresh(sentCookie(second)))
    assertStatus(await call('GET', `/auth/account/${mvUid}`, undefined, { authToken }))
  })

  it('gives two tabs the same next token', async () => {
    const cookie = sentCookie(await logInOnPage(email))
    const [one, two] = await Promise.all([refresh(cookie), refresh(cookie)])
    assert.equal(sentCookie(one), sentCookie(two))
  })

  it('is refused from another site', async () => {
    const cookie = sentCookie(await logInOnPage(email))
    for (const headers of [{}, { 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }])
      assertProblem(await refresh(cookie, headers), 403, 'cross-site-request')
    assertStatus(await refresh(cookie, { origin: new URL(service.url).origin }))
  })

  it('gives way to a token in the body', async () => {
    const cookie = sentCookie(await logInOnPage(email))
    const { refreshToken } = assertStatus(await call('POST', '/auth/login/password', { email, password }))
    const answer = await refresh(cookie, ownPage, { refreshToken })
    assert.equal(typeof assertStatus(answer).refreshToken, 'string')
    assert.equal(cookieOf(answer), '')
  })

  it('ends with the log-out, which removes the cookie', async () => {
    for (const page of [ownPage, {}]) {
      const login = await logInOnPage(email)
      const headers = { cookie: sentCookie(login), authorization: `Bearer ${assertStatus(login).authToken}` }
      const answer = await call('POST', '/auth/logout', undefined, { ...headers, ...page })
      assertStatus(answer, 204)
      assert.match(cookieOf(answer), /^refreshToken=; Path=\/auth; Max-Age=0;/)
      assertProblem(await refresh(sentCookie(login)), 401, 'unauthenticated')
    }
  })

  it('is missed without a cookie', async () => {
    assertProblem(await call('POST', '/auth/login/token', {}), 401, 'unauthenticated')
  })
})
