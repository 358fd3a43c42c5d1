import { type Static, Type } from '@sinclair/typebox'
import { changeAuthorNames, onBehalfOfField } from '../change.ts'
import { measuredValuesField } from '../charts/timeline-and-medgraph.ts'
import { closedObject, idField, pathField } from '../common.ts'
import { nullable } from '../forms/nullable.ts'

const DeletedParent = closedObject(
  'DeletedParent',
  'The deleted record to which a deleted record belongs. It must be restored first',
  {
    type: Type.String({ description: 'Kind of the record', examples: ['CarePlan'] }),
    id: idField('the record', 'k2LwQa91Zp'),
  },
)

/** A record that was deleted from an EHR, and who deleted it. */
export const DeletedRecordResource = closedObject(
  'DeletedRecordResource',
  'A record that was deleted from an EHR',
  {
    type: Type.String({ description: 'Kind of the record', examples: ['Diagnosis'] }),
    id: idField('the record', 'm4RtYu78Io'),
    version: Type.Integer({
      minimum: 1,
      description: 'Last version before the deletion, to which the record can be restored',
      examples: [1],
    }),
    content: nullable(
      Type.String({ description: 'Content of the record in a line of text', examples: ['Asthma'] }),
    ),
    values: measuredValuesField,
    deletedAt: Type.String({ format: 'date-time', description: 'Time of the deletion' }),
    userId: { ...idField('the user who deleted the record'), examples: ['n4Fq2LxT0a'] },
    onBehalfOf: onBehalfOfField,
    ...changeAuthorNames,
    application: Type.String({ description: 'Application that the user used', examples: ['path family'] }),
    deletedParent: nullable(DeletedParent),
    history: pathField('Path of the history of the record', '/ehr/e5RtGb81Xz/diagnosis/m4RtYu78Io/history'),
  },
)
export type DeletedRecordResource = Static<typeof DeletedRecordResource>
