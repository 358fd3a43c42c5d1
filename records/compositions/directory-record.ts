import { Type } from '@sinclair/typebox'

const directorySchema = Type.Object({
  ehrId: Type.String(),
  /**
   * Canonical JSON of the root FOLDER without its uid, as text for the same reason as in compositions. Missing
   * in a version that marks the directory as deleted.
   */
  json: Type.Optional(Type.String()),
})

/** Contains a dot, so no class can have this name and the class family never reaches the collection. */
export const Directory = {
  collection: 'openehr.directories',
  schema: directorySchema,
  ehr: 'ehrId',
  parentType: 'EHR',
  words: { en: 'folders', nl: 'mappen' },
  fhir: { absent: 'FHIR has no folders of compositions' },
  lists: { ofEhr: { requiredFields: ['ehrId'], sort: 'createdAt', order: 'desc' } },
  // An EHR has one directory, even if several requests create it at once.
  indexes: [{ key: { ehrId: 1 }, unique: true }],
} as const
