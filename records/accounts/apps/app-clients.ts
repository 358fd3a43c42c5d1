import type { App } from '../../../schemas/accounts/app.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { AppAuthorizations } from './app-authorizations.ts'
import type { RegisteredApps } from './registered-apps.ts'

/**
 * Verifies an assertion with the keys of the app that it names.
 * @returns undefined for one that is not valid, or lasts longer than five minutes, or whose keys cannot be fetched
 */
export type VerifyAssertion = (
  assertion: string,
  findApp: (clientId: string) => Promise<App | undefined>,
) => Promise<{ clientId: string; jti: string; expiresAt: Date } | undefined>

/** The credentials of an app in a request to the token endpoint. */
export interface ClientProof {
  clientId: string | undefined
  secret: string | undefined
  assertion: string | undefined
}

interface AppClientDependencies {
  apps: RegisteredApps
  authorizations: AppAuthorizations
  verifyAssertion: VerifyAssertion
}

const clientRefusedError = () => new ServiceError('ClientRefused')

/** Finds out which app calls the token endpoint. */
export class AppClients {
  readonly #parts: AppClientDependencies

  constructor(parts: AppClientDependencies) {
    this.#parts = parts
  }

  /** An app proves who it is in the way that is registered, and in no other one. @throws ClientRefused */
  async identify({ clientId, secret, assertion }: ClientProof): Promise<App> {
    if (assertion !== undefined) return this.#identifyByKey(assertion, clientId)
    const { apps } = this.#parts
    const app = clientId === undefined ? undefined : await apps.find(clientId)
    const isRight =
      app?.authentication === 'secret'
        ? secret !== undefined && (await apps.hasSecret(app.id, secret))
        : app?.authentication === 'public' && secret === undefined
    if (!app || !isRight) throw clientRefusedError()
    return app
  }

  async #identifyByKey(assertion: string, clientId: string | undefined): Promise<App> {
    const { apps, authorizations, verifyAssertion } = this.#parts
    const proof = await verifyAssertion(assertion, (id) => apps.find(id))
    const app = proof && (await apps.find(proof.clientId))
    if (!proof || app?.authentication !== 'key' || (clientId ?? app.id) !== app.id) throw clientRefusedError()
    if (!(await authorizations.isFirstUse(app.id, proof.jti, proof.expiresAt))) throw clientRefusedError()
    return app
  }
}
