import { type Static, Type } from '@sinclair/typebox'
import { onBehalfOfField } from '../change.ts'
import { closedObject, idField } from '../common.ts'
import { nullable } from '../forms/nullable.ts'

/** An audit entry as the subject of the EHR sees it. */
export const AccessEntry = closedObject('AccessEntry', 'An access to the data of an EHR', {
  at: Type.String({ format: 'date-time', description: 'Time of the access' }),
  userId: { ...idField('the user'), examples: ['n4Fq2LxT0a'] },
  userName: nullable(
    Type.String({
      description: 'Name in the profile of the user, otherwise in the account; null if there is none',
      examples: ['Nurse Bo'],
    }),
  ),
  onBehalfOf: onBehalfOfField,
  application: Type.String({ description: 'Application that the user used', examples: ['path family'] }),
  action: Type.Unsafe<'create' | 'read' | 'query' | 'update' | 'delete'>({
    type: 'string',
    enum: ['create', 'read', 'query', 'update', 'delete'],
    description: 'Action of the user',
  }),
  type: Type.String({ description: 'Kind of the record', examples: ['CarePlan'] }),
  ids: Type.Array(Type.String(), { description: 'Ids of the records', examples: [['k81TzQx0Lm']] }),
  outcome: Type.Unsafe<'done' | 'denied' | 'refused'>({
    type: 'string',
    enum: ['done', 'denied', 'refused'],
    description:
      'Outcome. denied: the user has no access to such a record; refused: a rule forbade the action',
  }),
  asked: nullable(
    Type.String({ description: 'Properties by which a query was filtered; null for other actions' }),
  ),
  scope: Type.Unsafe<'ehr' | 'readable'>({
    type: 'string',
    enum: ['ehr', 'readable'],
    description:
      'Scope of the access. ehr: this EHR; readable: a query over all EHRs that the user may read, among them this one',
  }),
  requestId: Type.String({ description: 'Id of the request, as in its response' }),
})
export type AccessEntry = Static<typeof AccessEntry>

/** An entry in an EHR's audit is about that EHR, or about all EHRs that the user might read. */
export const accessScopeOf = (ehrId: string, entry: { ehrId: string | null }): AccessEntry['scope'] =>
  entry.ehrId === ehrId ? 'ehr' : 'readable'
