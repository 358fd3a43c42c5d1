import { type ClientOptions, createClient, createMemoryStore } from 'health-record-client'
import { service } from '../harness/service/service.ts'

/** A client that is logged in as a person. */
export const createClientOf = (
  { authToken, refreshToken }: { authToken: string; refreshToken: string },
  options: ClientOptions = {},
) => createClient({ url: service.url, tokens: createMemoryStore({ authToken, refreshToken }), ...options })
