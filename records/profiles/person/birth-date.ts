import type { PersonUpdate } from '../../../schemas/profiles/person.ts'
import { requireNoViolations } from '../../ehr-records/refusals/refusals.ts'
import { futureDateViolations } from '../../ehr-records/validation/field-violations.ts'

/** Earlier dates are typing errors, also those of a grandparent who died long ago. */
const EARLIEST_BIRTH_DATE = '1850-01-01'

/** @throws RuleViolated for a date of birth that nobody can have */
export function requirePossibleBirthDate(person: Pick<PersonUpdate, 'birthDate'>): void {
  const { birthDate } = person
  requireNoViolations([
    ...futureDateViolations(person, ['birthDate'], ['birthDate']),
    ...(birthDate && birthDate < EARLIEST_BIRTH_DATE
      ? [{ path: 'birthDate', code: 'range', message: `must not be before ${EARLIEST_BIRTH_DATE}` }]
      : []),
  ])
}
