import { Type } from '@sinclair/typebox'
import { codingField, searchFields } from '../coding.ts'
import { longTextField, shortTextField } from '../common.ts'
import { ImmunisationStatusEnum, ReportOriginEnum } from '../enums.ts'
import { dateField } from '../forms/fields.ts'
import { defineForms } from '../forms/forms.ts'

const doseField = (description: string, example: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description, examples: [example] }))

export const ImmunisationForms = defineForms({
  name: 'Immunisation',
  noun: 'immunisation',
  description:
    'A vaccine that the person received, or did not receive. It is registered in the EHR, outside of care plans',
  parentType: 'EHR',
  example: 'i6YgVb28Nm',
  fields: {
    vaccine: shortTextField('Name of the vaccine', 'Influenza vaccine 2026/27'),
    code: Type.Optional(codingField('the vaccine', 'http://www.whocc.no/atc', 'J07BB02')),
    date: Type.Optional(dateField('Day of the immunisation', '2026-10-12')),
    status: Type.Optional({ ...ImmunisationStatusEnum, default: 'completed' }),
    statusReason: Type.Optional(shortTextField('Reason for not giving it', 'Fever')),
    targetDisease: Type.Optional(shortTextField('Disease that it protects against', 'Influenza')),
    doseNumber: doseField('Number of the dose within its series', 1),
    seriesDoses: doseField('Recommended number of doses', 2),
    lotNumber: Type.Optional(shortTextField('Lot number', 'AB1234')),
    manufacturer: Type.Optional(shortTextField('Manufacturer', 'Example Vaccines')),
    expiry: Type.Optional(dateField('Expiration date of the vaccine', '2027-06-30')),
    site: Type.Optional(shortTextField('Site in the body', 'Left upper arm')),
    route: Type.Optional(shortTextField('Route of administration', 'Intramuscular')),
    performer: Type.Optional(
      shortTextField('Name of the person or organisation that gave it', 'Practice of Dr Vos'),
    ),
    primarySource: Type.Optional(
      Type.Boolean({ description: 'True if the information comes from whoever gave it' }),
    ),
    reportOrigin: Type.Optional(ReportOriginEnum),
    comment: Type.Optional(longTextField('Comment', 'Sore arm for two days')),
    ...searchFields,
  },
  examples: [
    {
      vaccine: 'Influenza vaccine 2026/27',
      code: { system: 'http://www.whocc.no/atc', code: 'J07BB02' },
      date: '2026-10-12',
      status: 'completed',
      targetDisease: 'Influenza',
      doseNumber: 1,
      seriesDoses: 2,
      lotNumber: 'AB1234',
      manufacturer: 'Example Vaccines',
      expiry: '2027-06-30',
      site: 'Left upper arm',
      route: 'Intramuscular',
      performer: 'Practice of Dr Vos',
      primarySource: true,
      comment: 'Sore arm for two days',
    },
  ],
})
