import { Type } from '@sinclair/typebox'
import { codingField, searchFields } from '../coding.ts'
import { longTextField, shortTextField } from '../common.ts'
import { CertaintyEnum, DiagnosisStatusEnum, GradeEnum } from '../enums.ts'
import { dateField, internalField } from '../forms/fields.ts'
import { defineForms } from '../forms/forms.ts'

const SNOMED_URI = 'http://snomed.info/sct'

export const DiagnosisForms = defineForms({
  name: 'Diagnosis',
  noun: 'diagnosis',
  description:
    'A disease or another health problem, current or past. It is registered in the EHR, outside of care plans',
  parentType: 'EHR',
  example: 'd1AsDf83Zx',
  fields: {
    name: shortTextField('Name of the diagnosis', 'High blood pressure'),
    code: Type.Optional(codingField('the diagnosis', SNOMED_URI, '38341003')),
    onset: Type.Optional(dateField('Date of onset', '2024-11-01')),
    recognised: Type.Optional(dateField('Date of recognition', '2025-01-15')),
    resolved: Type.Optional(dateField('Date of resolution', '2026-02-01')),
    severity: Type.Optional(GradeEnum),
    certainty: Type.Optional(CertaintyEnum),
    bodySite: Type.Optional(shortTextField('Site in the body', 'Left knee')),
    status: Type.Optional({
      ...DiagnosisStatusEnum,
      description:
        'Clinical status, as of a FHIR R4 Condition; default: `resolved` with a date of resolution, else `active`',
    }),
    comment: Type.Optional(longTextField('Comment', 'Found by chance at the yearly check-up')),
    ...searchFields,
    goesOn: internalField(
      Type.Boolean({ description: 'True if the status is active, recurrence or relapse' }),
    ),
  },
  examples: [
    {
      name: 'High blood pressure',
      code: { system: SNOMED_URI, code: '38341003' },
      onset: '2024-11-01',
      recognised: '2025-01-15',
      severity: 'moderate',
      certainty: 'confirmed',
      status: 'active',
      comment: 'Found by chance at the yearly check-up',
    },
  ],
})
