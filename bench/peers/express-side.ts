import { withDatabase } from '@health-record-service/embedded-mongo'
import { newId } from '../../records/store/documents/ids.ts'
import { postJson, type Side, startSide } from '../frame/compare-sides.ts'
import { account } from './parse-side.ts'

/** The handwritten service, in the database `express`, with a user who is not logged in yet. */
export interface ExpressSide extends Side {
  userId: string
}

export async function startExpressSide(
  engineUri: string,
  person: object = {},
  ofPerson: object[] = [],
): Promise<ExpressSide> {
  const side = await launchExpressSide(engineUri)
  const { email, password } = account
  const userId = newId()
  await postJson(side, '/users', { id: userId, email, password, person, ofPerson })
  return { ...side, userId }
}

export const launchExpressSide = (engineUri: string): Promise<Side> =>
  startSide('A: Express', './peers/bare-express.js', { MONGODB_URI: withDatabase(engineUri, 'express') })
