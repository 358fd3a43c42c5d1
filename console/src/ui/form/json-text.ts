import { Problem } from 'health-record-client'
import { translate } from '../../texts/translate.ts'

/** The value of a field in which people write JSON. @throws Problem that names the field */
export function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const errors = [{ path: `body.${path}`, code: 'json', message: translate('violation.json') }]
    throw new Problem({ status: 422, code: 'rule-violated', title: '', errors })
  }
}
