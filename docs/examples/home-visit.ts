import { Type } from '@sinclair/typebox'
import { registered } from '../../path-api/operation/registered.ts'
import { kind } from '../../records/registered/kind.ts'
import { line, text } from '../../schemas/common.ts'
import { date, fixed } from '../../schemas/forms/fields.ts'
import { forms } from '../../schemas/forms/forms.ts'

// schemas/home-visit.ts
const HomeVisitForms = forms({
  name: 'HomeVisit',
  noun: 'home visit',
  description: 'A visit to the person at home',
  registeredIn: 'either', // a care plan when it names one, else the EHR as a whole
  example: 'h7TgBn42Lk',
  fields: {
    day: date('When it took place'),
    visitor: fixed(line('Who came', 'District nurse')),
    findings: Type.Optional(text('What was found', 'Lives upstairs, no handrail')),
  },
})

// records/home-visits/home-visit.ts, and a line in `classes` of records/kinds.ts
export const HomeVisit = kind(HomeVisitForms, {
  words: { en: 'home visits', nl: 'huisbezoeken' },
  rules: {
    together: [],
    violations: ({ findings }) =>
      findings === '' ? [{ path: 'findings', code: 'empty', message: 'must not be empty' }] : [],
  },
  lists: {
    ofEhr: { by: ['ehrId'], sort: 'day', order: 'desc' },
    ofPlan: { by: ['carePlanId'], sort: 'day', order: 'desc' },
  },
})

// path-api/resources/home-visit.ts, and a line in path-api/table.ts
export const homeVisits = registered(HomeVisit, '/med/{ehrId}/homevisit', {
  source: 'EHR data',
  parameter: 'homeVisitId',
  extra: ['list', 'add', 'get', 'replace', 'delete'],
})
