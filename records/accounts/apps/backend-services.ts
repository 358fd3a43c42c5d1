import type { App } from '../../../schemas/accounts/app.ts'
import type { ConnectedSystems } from '../systems/connected-systems.ts'
import { type AppTokenGrant, type AppTokens, grantRefused } from './app-grants.ts'
import { isSystemScope, reduceScopes } from './app-scopes.ts'

/** A backend service proves who it is for each token, so it needs no longer one. */
const BACKEND_TOKEN_LIFETIME_S = 300

/** Apps that act without a person, with the rights of a connected system (SMART Backend Services). */
export class BackendServices {
  readonly #systems: Pick<ConnectedSystems, 'findKeyId'>
  readonly #tokens: Pick<AppTokens, 'sign'>

  constructor(systems: Pick<ConnectedSystems, 'findKeyId'>, tokens: Pick<AppTokens, 'sign'>) {
    this.#systems = systems
    this.#tokens = tokens
  }

  /** The token names the key of the system: it ends when an administrator renews or revokes the key. @throws GrantRefused */
  async issueToken(
    { id: clientId, systemId, scopes: registeredScopes }: App,
    requestedScopes: string,
  ): Promise<AppTokenGrant> {
    const sid = systemId && (await this.#systems.findKeyId(systemId))
    if (!systemId || !sid)
      throw grantRefused(
        'unauthorized_client',
        'This app belongs to no connected system, or the system is locked out',
      )
    const scopes = reduceScopes(requestedScopes, registeredScopes).filter(isSystemScope)
    if (scopes.length === 0)
      throw grantRefused(
        'invalid_scope',
        'None of these scopes is a system scope that is registered for this app',
      )
    return {
      access_token: await this.#tokens.sign(
        { sub: systemId, sid, clientId, scopes },
        BACKEND_TOKEN_LIFETIME_S,
      ),
      token_type: 'Bearer',
      expires_in: BACKEND_TOKEN_LIFETIME_S,
      scope: scopes.join(' '),
    }
  }
}
