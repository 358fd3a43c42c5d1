import type { Coding } from '../../schemas/coding.ts'
import { Diagnosis as forms } from '../../schemas/diagnosis.ts'
import { DiagnosisStatusEnum, GradeEnum } from '../../schemas/enum.ts'
import type { Violation } from '../../schemas/violation.ts'
import { kind, type Values } from '../registered/kind.ts'
import { severityIn } from '../registered/timeline-line.ts'
import { by, byCode, search, searchedIn } from './finding.ts'
import { before, blank } from './rules.ts'

const GOES_ON = ['active', 'recurrence', 'relapse']

/** What is over on a day is resolved, where nobody says more of it. */
const statusOf = ({ status, resolved }: Values) => status ?? (resolved ? 'resolved' : 'active')

const goesOn = (values: Values): boolean => GOES_ON.includes(String(statusOf(values)))

const found = searchedIn(({ name, bodySite, comment }) => [name, bodySite, comment])

/** FHIR's constraint con-4 on a Condition. */
const isOver = (values: Values): Violation[] =>
  values.resolved && goesOn(values)
    ? [{ path: 'status', code: 'resolved', message: 'must be inactive, remission or resolved: it is over' }]
    : []

export const Diagnosis = kind(forms, {
  words: { en: 'diagnoses', nl: 'diagnoses' },
  rules: {
    together: ['name', 'code', 'bodySite', 'comment', 'onset', 'recognised', 'resolved', 'status'],
    violations: (values) => [
      ...blank(values, 'name'),
      ...before(values, 'recognised', 'onset'),
      ...before(values, 'resolved', 'onset'),
      ...isOver(values),
    ],
    derived: (values) => ({ ...found(values), status: statusOf(values), goesOn: goesOn(values) }),
  },
  lists: { ofEhr: { by: ['ehrId'], sort: 'createdAt', order: 'desc' } },
  filters: {
    search: search('its name, its place in the body and the remark on it', 'blood pres'),
    code: byCode,
    status: by('status', DiagnosisStatusEnum),
  },
  timeline: {
    kind: 'diagnosis',
    group: 'diagnoses',
    start: ['onset', 'recognised', 'createdAt'],
    end: 'resolved',
    open: { goesOn: true },
    says: ({ name, status, severity, code }) => ({
      content: String(name),
      summary: String(status),
      severity: severityIn(GradeEnum.enum, severity),
      code: code as Coding | undefined,
    }),
  },
})
