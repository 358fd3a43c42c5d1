import { defineOperation } from '../../operation/operation.ts'
import { FHIR_PATH, fhirOperation, replyWithBundle, resourceBody, resourceIdField } from './fhir-operation.ts'

export const fhirPatientOperations = [
  defineOperation({
    ...fhirOperation,
    id: 'summariseFhirPatient',
    method: 'get',
    path: `${FHIR_PATH}/Patient/{id}/$summary`,
    params: { id: resourceIdField('Patient', 'e5RtGb81Xz') },
    summary: 'Get the International Patient Summary of a patient',
    description:
      'Returns a document with the sections of medications, allergies, problems, immunizations, devices, vital signs and plans. A section has at most 1,000 entries, that of vital signs the newest 20.',
    access: 'record',
    reply: [200, resourceBody('Bundle')],
    handle: async ({ params: { id } }, { caller, fhir }) =>
      replyWithBundle(await fhir.summarise(caller, String(id))),
  }),
]
