import { Type } from '@sinclair/typebox'
import { defineOperation, type Operation } from '../../../operation/operation.ts'
import {
  FHIR_PATH,
  fhirOperation,
  replyWithBundle,
  resourceBody,
  resourceIdField,
  resultParameters,
  withPost,
} from '../fhir-operation.ts'

const { _since, _type, _count, _cursor, _format } = resultParameters

const careDate = (which: string) =>
  Type.Optional(Type.String({ description: `The ${which} day of the care`, examples: ['2026-03-01'] }))

export const fhirPatientOperations: readonly Operation[] = [
  defineOperation({
    ...fhirOperation,
    id: 'summariseFhirPatient',
    method: 'get',
    path: `${FHIR_PATH}/Patient/{id}/$summary`,
    params: { id: resourceIdField('Patient', 'e5RtGb81Xz') },
    summary: 'Get the International Patient Summary of a patient',
    description:
      'Returns a document with the sections of medications, allergies, problems, immunizations, devices, vital signs and plans. A section has at most 1,000 entries, that of vital signs the newest three of each kind. Its text says when the record may have more.',
    access: 'record',
    reply: [200, resourceBody('Bundle')],
    errors: ['ContentTooLarge'],
    handle: async ({ params: { id } }, { caller, fhir }) =>
      replyWithBundle(await fhir.summarise(caller, String(id))),
  }),
  defineOperation({
    ...fhirOperation,
    id: 'readFhirPatientEverything',
    method: 'get',
    path: `${FHIR_PATH}/Patient/{id}/$everything`,
    params: { id: resourceIdField('Patient', 'e5RtGb81Xz') },
    query: { start: careDate('first'), end: careDate('last'), _type, _since, _count, _cursor, _format },
    summary: 'Get all resources of a patient',
    description:
      'Returns the Patient and all resources that you may read, type by type, page by page. Types without a date of care ignore start and end.',
    access: 'record',
    reply: [200, resourceBody('Bundle')],
    handle: async ({ params: { id }, query }, { caller, fhir }) =>
      replyWithBundle(await fhir.everything(caller, String(id), query)),
  }),
].flatMap(withPost)
