import { Type } from '@sinclair/typebox'
import { defineRecordOperations } from '../../path-api/operation/record-operations.ts'
import { defineKind } from '../../records/ehr-records/kind.ts'
import { longTextField, shortTextField } from '../../schemas/common.ts'
import { dateField, fixedField } from '../../schemas/forms/fields.ts'
import { defineForms } from '../../schemas/forms/forms.ts'

// schemas/home-visit.ts
const HomeVisitForms = defineForms({
  name: 'HomeVisit',
  noun: 'home visit',
  description: 'A visit to the person at home',
  parentType: 'either', // a care plan when it names one, else the EHR as a whole
  example: 'h7TgBn42Lk',
  fields: {
    day: dateField('When it took place'),
    visitor: fixedField(shortTextField('Who came', 'District nurse')),
    findings: Type.Optional(longTextField('What was found', 'Lives upstairs, no handrail')),
  },
})

// records/home-visits/home-visit.ts, and a line in `classKinds` of records/kinds.ts
export const HomeVisit = defineKind(HomeVisitForms, {
  words: { en: 'home visits', nl: 'huisbezoeken' },
  fhir: { absent: 'Not mapped to FHIR yet' },
  rules: {
    dependentFields: [],
    violations: ({ findings }) =>
      findings === '' ? [{ path: 'findings', code: 'empty', message: 'must not be empty' }] : [],
  },
  lists: {
    ofEhr: { requiredFields: ['ehrId'], sort: 'day', order: 'desc' },
    ofPlan: { requiredFields: ['carePlanId'], sort: 'day', order: 'desc' },
  },
})

// path-api/resources/home-visits.ts, and a line in path-api/operation-table.ts
export const homeVisits = defineRecordOperations(HomeVisit, '/med/{ehrId}/homevisit', {
  source: 'EHR data',
  parameter: 'homeVisitId',
  extra: ['list', 'add', 'get', 'replace', 'delete'],
})
