import type { components } from 'health-record-client'
import { formatDate, formatMoment, formatNumber, quantityName, unitName } from '../../texts/format.ts'
import { translate, translateName } from '../../texts/translate.ts'

type TimelineEvent = components['schemas']['TimelineEvent']

/** The label of a field. The unit of a quantity has the quantity's. */
export function fieldName(name: string): string {
  if (name.includes('/')) return nodeName(name)
  const [, quantity] = /^(\w+)Unit$/.exec(name) ?? []
  const label = translateName(`field.${name}`, quantityName(name, name))
  return quantity ? translate('measure.unitOf', { name: quantityName(quantity, quantity) }) : label
}

/** The name of a value in a composition, from its path: `encounter/blood_pressure:0/systolic|magnitude`. */
const nodeName = (path: string): string =>
  path
    .split(/[/|]/)
    .slice(1)
    .map((part) => part.replace(/:0$/, '').replace(/[_:]/g, ' ').trim())
    .join(', ')

type Content = Pick<TimelineEvent, 'values'> & { content: string | null }
type MeasuredValue = TimelineEvent['values'][number]

const SCORE = '{score}'
const QUESTIONNAIRES = ['acq', 'hads', 'dsmq']

/** The content of a record as a line: measured values in the reader's language, of others their own words. */
export function contentText({ values, content }: Content, kind: string): string {
  if (values.length === 0)
    return QUESTIONNAIRES.includes(kind) ? translate('timeline.noScore') : (content ?? '–')
  const groups = Map.groupBy(values, ({ unit }) => unit)
  return [...groups].map(([unit, group]) => `${numbersText(group)} ${unitName(unit)}`).join(', ')
}

/** `126/80`; scores have names: `Anxiety 12, Depression 8`. */
function numbersText(values: readonly MeasuredValue[]): string {
  if (values.length === 1 || values[0]?.unit !== SCORE)
    return values.map(({ value }) => formatNumber(value)).join('/')
  return values.map(({ name, value }) => `${quantityName(name, name)} ${formatNumber(value)}`).join(', ')
}

/** A value of a record. @param words the group of texts that explains its codes, such as `planStatus` */
export function valueText(value: unknown, words = ''): string {
  if (value === null || value === undefined) return '–'
  if (typeof value === 'number') return formatNumber(value)
  if (typeof value === 'boolean') return translate(value ? 'yes' : 'no')
  if (typeof value === 'string') return words === 'unit' ? unitName(value) : wordsOf(value, words)
  if (Array.isArray(value)) return value.map((one) => valueText(one, words)).join(', ')
  return Object.values(value)
    .map((one) => valueText(one, words))
    .join(' ')
}

function wordsOf(text: string, words: string): string {
  if (words !== '') return translateName(`${words}.${text}`, text)
  if (/^\d{4}-\d\d-\d\dT/.test(text)) return formatMoment(text)
  return /^\d{4}-\d\d-\d\d$/.test(text) ? formatDate(text) : text
}
