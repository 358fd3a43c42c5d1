import { classKinds } from '../../../records/kinds.ts'
import { defineRecordOperations } from '../../operation/record-operations.ts'

const { Medication, Immunisation } = classKinds

/** The specification has neither; a patient summary needs both. */
const beyondSpecification = {
  source: 'International Patient Summary',
  extra: ['list', 'add', 'get', 'replace', 'delete'],
} as const

export const medicationOperations = [
  ...defineRecordOperations(Medication, '/ehr/{ehrId}/medication', {
    ...beyondSpecification,
    parameter: 'medicationId',
  }),
  ...defineRecordOperations(Immunisation, '/ehr/{ehrId}/immunisation', {
    ...beyondSpecification,
    parameter: 'immunisationId',
  }),
]
