import { bandName, formatNumber, kindName, unitName } from '../../texts/format.ts'
import { translate } from '../../texts/translate.ts'
import type { WorklistAlert } from './worklist-query.ts'

interface AlertData {
  kind: string
  missed?: object
  values?: { value: number; unit: string }[]
  band?: { code: string; label: string }
}

/** The subject of an alert in the language of the reader. Alerts of data types keep the title of the service. */
export function alertText({ title, data }: WorklistAlert): string {
  const { kind, missed, values = [], band } = (data ?? {}) as unknown as Partial<AlertData>
  if (kind === undefined || kindName(kind) === kind) return title
  if (missed) return translate('alert.missed', { kind: kindName(kind) })
  const numbers = values.map(({ value }) => formatNumber(value)).join('/')
  const name = band ? `: ${bandName(band.code, band.label)}` : ''
  return `${kindName(kind)} ${numbers} ${unitName(values[0]?.unit ?? '')}${name}`
}
