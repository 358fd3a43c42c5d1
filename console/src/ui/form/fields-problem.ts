import { Problem } from 'health-record-client'
import { translate } from '../../texts/translate.ts'

/** A fault that a form finds by itself, in the language of the reader. */
export interface FieldFault {
  /** The name of the field. */
  field: string
  message: string
}

/** The problem of a form whose fields cannot be sent. It is shown as if the service had found it. */
export const fieldsProblem = (faults: readonly FieldFault[]): Problem =>
  new Problem({
    status: 422,
    code: 'rule-violated',
    title: '',
    errors: faults.map(({ field, message }) => ({ path: `body.${field}`, code: 'here', message })),
  })

/** The value of a field in which people write JSON. @throws Problem that names the field */
export function parseJson(text: string, field: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw fieldsProblem([{ field, message: translate('violation.json') }])
  }
}
