import { createServer, type Server } from 'node:http'
import { type CryptoKey, decodeJwt, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import Provider from 'oidc-provider'

/** A person in the identity provider's data. */
interface ProviderAccount {
  sub: string
  email: string
  email_verified: boolean
}

export const client = { id: 'health-record', secret: 'a-secret-of-the-provider-and-us' }
export const redirectUri = 'https://app.example.org/callback'

/** A real OpenID Connect provider without a login page: the test sets who is logged in. */
export interface TestProvider {
  issuer: string
  /** The account of the next login. */
  account: ProviderAccount
  /** The private key of its signatures. */
  key: JWK
  /** Claims that replace those of the ID tokens for codes. */
  claims: object
  /** Responses of a provider that fails, by path. */
  failures: Record<string, [status: number, text: string, headers?: Record<string, string>]>
  /** The parameters of the redirect that a browser would bring back. */
  authorize(parameters: Record<string, string>): Promise<URLSearchParams>
  close(): Promise<void>
}

export async function startProvider(port: number): Promise<TestProvider> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const key: JWK = { ...(await exportJWK(privateKey)), kid: 'provider-key', alg: 'RS256', use: 'sig' }
  const issuer = `http://127.0.0.1:${port}`
  const test: TestProvider = {
    issuer,
    account: { sub: 'nobody', email: 'nobody@example.org', email_verified: true },
    key,
    claims: {},
    failures: {},
    authorize: (parameters) => authorize(issuer, parameters),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
  const provider = new Provider(issuer, configuration(test) as never)
  provider.use(async (ctx, next) => {
    await next()
    const body = ctx.body as { id_token?: string } | undefined
    if (body?.id_token !== undefined) body.id_token = await resign(body.id_token, privateKey, test.claims)
  })
  const serve = provider.callback()
  const server: Server = createServer((req, res) => {
    const finished = { login: { accountId: test.account.sub } }
    const failure = test.failures[req.url ?? '']
    if (failure) res.writeHead(failure[0], failure[2]).end(failure[1])
    else if (!req.url?.startsWith('/interaction/')) serve(req, res)
    else provider.interactionFinished(req, res, finished).catch(() => res.destroy())
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return test
}

async function resign(idToken: string, key: CryptoKey, claims: object): Promise<string> {
  return new SignJWT({ ...decodeJwt(idToken), ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: 'provider-key' })
    .sign(key)
}

const configuration = (test: TestProvider) => ({
  clients: [
    {
      client_id: client.id,
      client_secret: client.secret,
      redirect_uris: [redirectUri],
      response_types: ['code', 'code id_token', 'id_token'],
      grant_types: ['authorization_code', 'implicit'],
      token_endpoint_auth_method: 'client_secret_post',
    },
  ],
  jwks: { keys: [test.key] },
  cookies: { keys: ['a key of the test'] },
  claims: { openid: ['sub'], email: ['email', 'email_verified'] },
  conformIdTokenClaims: false,
  pkce: { required: () => false },
  ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 60, IdToken: 60, Interaction: 60, Session: 60 },
  features: { devInteractions: { enabled: false } },
  findAccount: () => ({ accountId: test.account.sub, claims: () => test.account }),
  /** Grants all requests. */
  async loadExistingGrant(ctx: {
    oidc: { client: { clientId: string }; provider: Provider; account: { accountId: string } }
  }) {
    const { Grant } = ctx.oidc.provider
    const grant = new Grant({ clientId: ctx.oidc.client.clientId, accountId: test.account.sub })
    grant.addOIDCScope('openid email')
    await grant.save()
    return grant
  },
})

/** Follows the redirects with cookies like a browser, until the one to our service. */
async function authorize(issuer: string, parameters: Record<string, string>): Promise<URLSearchParams> {
  const query = new URLSearchParams({
    client_id: client.id,
    scope: 'openid email',
    redirect_uri: redirectUri,
    response_type: 'code',
    ...parameters,
  })
  const cookies = new Map<string, string>()
  let url = new URL(`${issuer}/auth?${query}`)
  for (let redirects = 0; !url.href.startsWith(redirectUri); redirects++) {
    if (redirects > 10) throw new Error('The provider redirects in circles')
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const { headers, status } = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const set of headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      if (name !== undefined) cookies.set(name, value ?? '')
    }
    const location = headers.get('location')
    if (!location) throw new Error(`The provider answered ${status}`)
    url = new URL(location, url)
  }
  return new URLSearchParams(url.hash.slice(1) || url.search)
}
