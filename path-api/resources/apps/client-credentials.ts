import { grantRefused } from '../../../records/accounts/apps/app-grants.ts'
import type { Context } from '../../operation/context.ts'

interface ClientFields {
  client_id?: string | undefined
  client_secret?: string | undefined
  client_assertion?: string | undefined
}

/**
 * The id and the secret that a client has sent, in the header or in the body.
 * @throws GrantRefused for more than one way of authentication (RFC 6749, 2.3), or two ids
 */
export function readClientCredentials(
  { client_id, client_secret, client_assertion }: ClientFields,
  basicCredentials: Context<'public'>['basicCredentials'],
): { clientId: string | undefined; secret: string | undefined } {
  const ways = [basicCredentials, client_secret, client_assertion].filter((one) => one !== undefined)
  if (ways.length > 1)
    throw grantRefused('invalid_request', 'A client authenticates in one way: by Basic, secret or assertion')
  const { name = client_id, secret = client_secret } = basicCredentials ?? {}
  if (client_id !== undefined && client_id !== name)
    throw grantRefused('invalid_request', 'client_id differs from that of the header Authorization')
  return { clientId: name, secret }
}
