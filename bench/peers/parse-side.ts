import { setTimeout } from 'node:timers/promises'
import { withDatabase } from '@health-record-service/embedded-mongo'
import { MongoClient } from 'mongodb'
import { setRole } from '../../records/ehrs/rights/roles.ts'
import { postJson, type Side, startSide } from '../frame/compare-sides.ts'

const keys = {
  APPLICATION_ID: 'bench-application-id',
  REST_API_KEY: 'bench-rest-api-key-1',
  JAVASCRIPT_KEY: 'bench-javascript-key',
  CLIENT_KEY: 'bench-client-key-001',
  DOTNET_KEY: 'bench-dotnet-key-001',
  MASTER_KEY: 'bench-master-key-001',
  AUDIT_KEY: 'bench-audit-key-0001',
  KEY_ENCRYPTION_KEY: 'bench-encryption-key',
}
/** The settings of production. Mails stay in the queue, because there is no mail server. */
const production = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'http://127.0.0.1',
  SMTP_URL: 'smtp://127.0.0.1:9',
  MAIL_FROM: 'bench@example.org',
}
const unlimited = Object.fromEntries(
  ['ADDRESS_RATE', 'ACCOUNT_RATE', 'LOGIN_ATTEMPTS', 'ACCOUNT_LOGIN_ATTEMPTS'].map((name) => [
    name,
    '1000000',
  ]),
)

export const account = {
  username: 'bench@example.org',
  email: 'bench@example.org',
  password: 'a long password',
}

/** A service with the class family, where a user with an EHR and a care plan is logged in. */
export interface ParseSide extends Side {
  userId: string
  ehrId: string
  carePlanId: string
}

/** @param database the side's database in the engine, by default with the side's name */
export async function launchParseSide(
  name: string,
  script: string,
  engineUri: string,
  database = name,
): Promise<Side> {
  const environment = {
    ...keys,
    ...production,
    ...unlimited,
    MONGODB_URI: withDatabase(engineUri, database),
  }
  const side = await startSide(name, script, environment)
  side.headers['X-Parse-Application-Id'] = keys.APPLICATION_ID
  side.headers['X-Parse-REST-API-Key'] = keys.REST_API_KEY
  return side
}

/** Starts a side with a user who has an EHR and a care plan. */
export async function startParseSide(name: string, script: string, engineUri: string): Promise<ParseSide> {
  const side = await launchParseSide(name, script, engineUri)
  const signedIn = await signUp(side, withDatabase(engineUri, name), account.email)
  const { userId } = signedIn
  const { objectId: ehrId = '' } = await postJson(signedIn, '/1/classes/Ehr', { subjectId: userId })
  const { objectId: carePlanId = '' } = await postJson(signedIn, '/1/classes/CarePlan', {
    ehrId,
    name: 'bench',
  })
  return { ...signedIn, ehrId, carePlanId }
}

/** Signs up. @returns the side with the session of the new user */
export async function signUp(
  side: Side,
  mongodbUri: string,
  email: string,
): Promise<Side & { userId: string }> {
  const as = { ...account, username: email, email }
  const { objectId: userId = '' } = await postJson(side, '/1/users', as)
  await confirmAddress(mongodbUri, email)
  return { ...(await logIn(side, email)), userId }
}

/** Logs in. @returns the side with the session of that user */
export async function logIn(side: Side, email: string): Promise<Side> {
  const { sessionToken = '' } = await postJson(side, '/1/login', { ...account, username: email, email })
  return { ...side, headers: { ...side.headers, 'X-Parse-Session-Token': sessionToken } }
}

/** Gives a role of accounts to a user. */
export async function grantRole(
  mongodbUri: string,
  userId: string,
  role: 'admin' | 'analyst',
): Promise<void> {
  const client = await MongoClient.connect(mongodbUri)
  await client.withSession((session) =>
    session.withTransaction(() => setRole({ client, db: client.db() }, session, userId, role, true)),
  )
  await client.close()
}

async function confirmAddress(mongodbUri: string, username: string): Promise<void> {
  const client = await MongoClient.connect(mongodbUri)
  const users = client.db().collection('_User')
  // The account is created after the response.
  while ((await users.updateOne({ username }, { $set: { emailVerified: true } })).matchedCount < 1)
    await setTimeout(20)
  await client.close()
}
