import { type Static, Type } from '@sinclair/typebox'
import { closedObject, shortTextField } from '../common.ts'
import { worklistViewFields } from './worklist-entry.ts'

const viewField = Type.Object(
  {
    name: { ...shortTextField('Name of the view', 'Urgent'), minLength: 1, maxLength: 60 },
    ...worklistViewFields,
  },
  { additionalProperties: false, description: 'A filter of the worklist under a name' },
)

/** The filters of the worklist that a user has saved. */
export const WorklistViews = closedObject('WorklistViews', 'Your saved views of the worklist', {
  views: Type.Array(viewField, { maxItems: 20, description: 'Views, in the order in which you see them' }),
})
export type WorklistViews = Static<typeof WorklistViews>
