import { type Static, Type } from '@sinclair/typebox'
import { closedObject, idField } from '../common.ts'
import { GenderEnum } from '../enums.ts'
import { nullable } from '../forms/nullable.ts'

export const personCardFields = {
  name: nullable(
    Type.String({
      description: 'Name of the person; null if you may not know it',
      examples: ['Anna de Vries'],
    }),
  ),
  birthDate: nullable(
    Type.String({ format: 'date', description: 'Date of birth, if it is known', examples: ['1961-04-30'] }),
  ),
}

/** Whom an EHR is about, for those who care for that person. */
export const PatientCard = closedObject('PatientCard', 'The person whom an EHR is about', {
  ehrId: idField('the EHR', 'e5RtGb81Xz'),
  ...personCardFields,
  gender: nullable(GenderEnum),
})
export type PatientCard = Static<typeof PatientCard>

export const PatientParams = closedObject('PatientParams', 'Show the person whom an EHR is about', {
  ehrId: idField('the EHR', 'e5RtGb81Xz'),
})
