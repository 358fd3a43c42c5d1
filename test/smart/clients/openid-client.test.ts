import assert from 'node:assert/strict'
import * as oidc from 'openid-client'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { createRestSystem } from '../../harness/people/rest-systems.ts'
import {
  authorizationOf,
  createSmartApp,
  decide,
  newVerifier,
  openRequest,
  type SmartApp,
} from '../../harness/people/smart-apps.ts'
import { service } from '../../harness/service/service.ts'

const SCOPES = ['launch/patient', 'patient/Observation.rs', 'openid', 'fhirUser', 'offline_access']

/** Both send the secret; Basic encodes it first (RFC 6749, 2.3.1). */
const METHODS = { 'a form': oidc.ClientSecretPost, Basic: oidc.ClientSecretBasic }

describe('a program with openid-client', () => {
  let patient: Patient
  let app: SmartApp
  before(async () => {
    patient = await createPatient()
    await createPlan(patient)
    app = await createSmartApp(SCOPES, { authentication: 'secret' })
  })

  const authorize = async (verifier: string, state: string): Promise<URL> => {
    const parameters = { ...authorizationOf(app, SCOPES.join(' '), verifier), state }
    const received = await decide(await openRequest(patient, parameters), 'admit', patient.ehrId)
    return new URL(`${app.redirectUri}?${received}`)
  }

  for (const [what, method] of Object.entries(METHODS)) {
    it(`logs in with the discovery document, and refreshes its tokens, by ${what}`, async () => {
      const options = { execute: [oidc.allowInsecureRequests] }
      const secret = app.clientSecret ?? ''
      const configuration = await oidc.discovery(
        new URL(service.url),
        app.id,
        secret,
        method(secret),
        options,
      )
      const verifier = newVerifier()
      const checks = { pkceCodeVerifier: verifier, expectedState: 'a state', idTokenExpected: true }
      const address = await authorize(verifier, checks.expectedState)
      const tokens = await oidc.authorizationCodeGrant(configuration, address, checks)
      assert.equal(tokens.claims()?.sub, patient.mvUid)
      const renewed = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
      assert.notEqual(renewed.access_token, tokens.access_token)
    })

    it(`gets the token of a connected system, and learns that a key is wrong, by ${what}`, async () => {
      const { id, clientSecret } = await createRestSystem()
      const requestToken = (secret: string) => {
        const server = { issuer: service.url, token_endpoint: `${service.url}/auth/token` }
        const configuration = new oidc.Configuration(server, id, secret, method(secret))
        oidc.allowInsecureRequests(configuration)
        return oidc.clientCredentialsGrant(configuration, { resource: 'ignored' })
      }
      assert.equal((await requestToken(clientSecret)).expires_in, 900)
      await assert.rejects(requestToken('wrong-secret_'), ({ cause: [challenge] }) => {
        assert.equal(challenge.scheme, 'basic')
        return true
      })
    })
  }
})
