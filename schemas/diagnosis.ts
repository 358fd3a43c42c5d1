import { Type } from '@sinclair/typebox'
import { coding, searched } from './coding.ts'
import { line, text } from './common.ts'
import { CertaintyEnum, DiagnosisStatusEnum, GradeEnum } from './enum.ts'
import { date, internal } from './forms/fields.ts'
import { forms } from './forms/forms.ts'

const snomed = 'http://snomed.info/sct'

export const Diagnosis = forms({
  name: 'Diagnosis',
  noun: 'diagnosis',
  description:
    'A disease or another health problem, current or past; it is registered in the EHR, not in a care plan',
  registeredIn: 'EHR',
  example: 'd1AsDf83Zx',
  fields: {
    name: line('What it is, in words', 'High blood pressure'),
    code: Type.Optional(coding('the diagnosis', snomed, '38341003')),
    onset: Type.Optional(date('When it began', '2024-11-01')),
    recognised: Type.Optional(date('When it was recognised', '2025-01-15')),
    resolved: Type.Optional(date('When it was resolved', '2026-02-01')),
    severity: Type.Optional(GradeEnum),
    certainty: Type.Optional(CertaintyEnum),
    bodySite: Type.Optional(line('Where in the body', 'Left knee')),
    status: Type.Optional({
      ...DiagnosisStatusEnum,
      description:
        'Clinical status, as of a FHIR R4 Condition; without one active, or resolved when that day is told',
    }),
    comment: Type.Optional(text('A remark on it', 'Found by chance at the yearly check-up')),
    ...searched,
    goesOn: internal(Type.Boolean({ description: 'Whether its status is active, recurrence or relapse' })),
  },
  examples: [
    {
      name: 'High blood pressure',
      code: { system: snomed, code: '38341003' },
      onset: '2024-11-01',
      recognised: '2025-01-15',
      severity: 'moderate',
      certainty: 'confirmed',
      status: 'active',
      comment: 'Found by chance at the yearly check-up',
    },
  ],
})
