import { Type } from '@sinclair/typebox'
import { id } from './common.ts'

/** What an account holds beyond what Parse gives it. */
export const UserFields = Type.Object(
  { ehrId: Type.Optional(id('the EHR that came with the account; gone when that EHR is deleted')) },
  { $id: 'UserFields', additionalProperties: false, description: 'Own properties of an account' },
)
