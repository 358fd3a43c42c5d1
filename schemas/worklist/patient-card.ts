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

/** The subject of an EHR, as shown to those who care for this person. */
export const PatientCard = closedObject('PatientCard', 'The subject of an EHR', {
  ehrId: idField('the EHR', 'e5RtGb81Xz'),
  ...personCardFields,
  gender: nullable(GenderEnum),
})
export type PatientCard = Static<typeof PatientCard>

export const PatientParams = closedObject('PatientParams', 'Get the subject of an EHR', {
  ehrId: idField('the EHR', 'e5RtGb81Xz'),
})
