import { Type } from '@sinclair/typebox'
import { codingField, searchFields } from '../coding.ts'
import { longTextField, shortTextField } from '../common.ts'
import { InformationSourceEnum, MedicationStatusEnum } from '../enums.ts'
import { dateField, internalField } from '../forms/fields.ts'
import { defineForms } from '../forms/forms.ts'

export const MedicationForms = defineForms({
  name: 'Medication',
  noun: 'medication',
  description:
    'A medication that the person takes, took or is to take, as somebody reports it; it is not a prescription. It is registered in the EHR, outside of care plans',
  parentType: 'EHR',
  example: 'm2PlOk93Ij',
  fields: {
    name: shortTextField('Name of the medication', 'Metformin 500 mg tablet'),
    code: Type.Optional(codingField('the medication', 'http://www.whocc.no/atc', 'A10BA02')),
    status: Type.Optional({ ...MedicationStatusEnum, default: 'active', examples: ['stopped'] }),
    statusReason: Type.Optional(shortTextField('Reason for the status', 'Nausea')),
    dosage: Type.Optional(longTextField('Dosage', 'One tablet twice a day, with a meal')),
    asNeeded: Type.Optional(Type.Boolean({ description: 'True if the person takes it only when needed' })),
    route: Type.Optional(shortTextField('Route of administration', 'Oral')),
    reason: Type.Optional(shortTextField('Reason for taking it', 'Type 2 diabetes')),
    start: Type.Optional(dateField('First day of taking it', '2024-11-01')),
    end: Type.Optional(dateField('Last day of taking it', '2026-02-01')),
    asserted: Type.Optional(dateField('Day of the report', '2026-03-01')),
    informationSource: Type.Optional(InformationSourceEnum),
    comment: Type.Optional(longTextField('Comment', 'Forgets the evening tablet at times')),
    ...searchFields,
    goesOn: internalField(Type.Boolean({ description: 'True if the status is active or on-hold' })),
  },
})
