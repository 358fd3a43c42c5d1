import type { Language } from './language.ts'
import { currentLanguage, isolate, translate, translateName } from './translate.ts'

/** Makes a formatter once for each language, as one takes longer to make than a whole table to format. */
function perLanguage<F>(make: (language: Language) => F): () => F {
  const formatters: Partial<Record<Language, F>> = {}
  return () => {
    const language = currentLanguage()
    formatters[language] ??= make(language)
    return formatters[language]
  }
}

const isDate = (at: string | number): boolean => typeof at === 'string' && /^\d{4}-\d\d-\d\d$/.test(at)

/** A date without a time, such as a birthday, is the same day in every time zone. */
function format(style: Intl.DateTimeFormatOptions) {
  const formatter = (zone?: Intl.DateTimeFormatOptions) =>
    perLanguage(
      (language) => new Intl.DateTimeFormat(language === 'nl' ? 'nl' : 'en-GB', { ...style, ...zone }),
    )
  const [moments, dates] = [formatter(), formatter({ timeZone: 'UTC' })]
  return (at: string | number) => (isDate(at) ? dates : moments)().format(new Date(at))
}

/** A date in full, as numbers alone are read in two orders: `5 March 2026`. */
export const formatDate = format({ dateStyle: 'long' })
/** Until when, and from when if that is still to come: `From 1 March 2026. Until 1 September 2026.` */
export function formatPeriod({ from, until }: { from: string; until: string }): string {
  const begin =
    new Date(from) > new Date() ? `${translate('helpers.fromDate', { date: formatDate(from) })}. ` : ''
  return `${begin}${translate('access.until', { date: formatDate(until) })}.`
}

/** In the browser's time zone. */
export const formatMoment = format({ dateStyle: 'long', timeStyle: 'short' })

const DAY_MS = 86_400_000
const formatTimeOfDay = format({ timeStyle: 'short' })
const formatDay = format({ day: 'numeric', month: 'short' })
const formatMonth = format({ month: 'short', year: 'numeric' })
const formatYear = format({ year: 'numeric' })

/** A time beside an axis whose marks are `stepMs` apart: `14:30`, `5 Mar`, `Mar 2026` or `2026`. Midnight shows its day. */
export function formatAxisTime(at: number, stepMs: number): string {
  if (stepMs >= 365 * DAY_MS) return formatYear(at)
  if (stepMs >= 28 * DAY_MS) return formatMonth(at)
  const isMidnight = new Date(at).setHours(0, 0) === at
  return stepMs >= DAY_MS || isMidnight ? formatDay(at) : formatTimeOfDay(at)
}

/** By their number of decimals. */
const numbers = Array.from({ length: 10 }, (_, maximumFractionDigits) =>
  perLanguage((language) => new Intl.NumberFormat(language, { maximumFractionDigits })),
)

export const formatNumber = (value: number, digits = 2): string => numbers[digits]?.().format(value) ?? ''

const lists = {
  and: perLanguage((language) => new Intl.ListFormat(language, { type: 'conjunction' })),
  or: perLanguage((language) => new Intl.ListFormat(language, { type: 'disjunction' })),
}

/** `a, b and c`, or `a, b or c`. */
export const formatList = (texts: readonly string[], word: keyof typeof lists): string =>
  lists[word]().format(texts.map(isolate))

const AGES: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_557_600_000],
  ['month', 2_629_800_000],
  ['week', 604_800_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]

const ages = perLanguage((language) => new Intl.RelativeTimeFormat(language))
const presentTime = perLanguage((language) => new Intl.RelativeTimeFormat(language, { numeric: 'auto' }))

/** The time since a moment, in words: `3 days ago`. Never "yesterday" or "last year": 47 hours or 23 months are more. */
export function formatAge(at: string | number, now = Date.now()): string {
  const past = new Date(at).getTime() - now
  const [unit, size] = AGES.find(([, length]) => Math.abs(past) >= length) ?? (['minute', 60_000] as const)
  const count = Math.trunc(past / size)
  return (count === 0 ? presentTime : ages)().format(count, unit)
}

const exactNumbers = perLanguage(
  (language) => new Intl.NumberFormat(language, { useGrouping: false, maximumFractionDigits: 20 }),
)

/** A number for a field, from which `parseDecimal` reads the same number: exact, and without signs between thousands. */
export const decimalText = (value: number): string => exactNumbers().format(value)

/** `10,000` in English, and `10.000` in Dutch: ten thousand, as well as ten to three decimals. */
const GROUPED = { en: /^-?[1-9]\d{0,2},\d{3}$/, nl: /^-?[1-9]\d{0,2}\.\d{3}$/ }

/** A number as people type it, with a decimal comma or point; undefined if it is none, or could be two. */
export function parseDecimal(text: string): number | undefined {
  const typed = text.trim()
  if (GROUPED[currentLanguage()].test(typed)) return undefined
  const plain = typed.replace(',', '.')
  return /^-?\d+(\.\d+)?$/.test(plain) ? Number(plain) : undefined
}

/** The date of today here, as `2026-03-05`. */
export const today = (): string => toLocalTime(new Date()).slice(0, 10)

/** A time in the form of a field for date and time: `2026-03-05T08:30`. */
export const toLocalTime = (at: Date): string =>
  new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)

/** A time with the local offset, so that the time of day is stored, too. Two readings of one second keep their order. */
export function toOffsetTime(at: Date): string {
  const minutes = -at.getTimezoneOffset()
  const [hours, rest] = [Math.abs(minutes) / 60, Math.abs(minutes) % 60].map((one) =>
    String(Math.trunc(one)).padStart(2, '0'),
  )
  const local = new Date(at.getTime() + minutes * 60_000).toISOString().slice(0, -1)
  return `${local}${minutes < 0 ? '-' : '+'}${hours}:${rest}`
}

/** A time that is typed, with the local offset. Other text stays as it is, so that the service says what is wrong with it. */
export function toTypedTime(text: string): string {
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? text : toOffsetTime(at)
}

/** Whether the clocks skip a time that is typed, as they do when summer time begins. */
export function isSkippedTime(text: string): boolean {
  const [, time = ''] = text.split('T')
  return !new Date(text).toTimeString().startsWith(time.slice(0, 5))
}

export const kindName = (path: string): string => translateName(`kind.${path}`, path)
/** The name at the beginning of a line. */
export const kindHeading = (path: string): string =>
  kindName(path).replace(/^./u, (first) => first.toLocaleUpperCase(currentLanguage()))
export const quantityName = (name: string, fallback: string): string =>
  translateName(`quantity.${name}`, fallback)
export const unitName = (unit: string): string => translateName(`unit.${unit}`, unit)
/** The unit as it is read aloud: `millimetres of mercury`. */
export const spokenUnit = (unit: string): string => translateName(`spoken.${unit}`, unitName(unit))
export const bandName = (code: string, fallback: string): string => translateName(`band.${code}`, fallback)

export const personName = (name: string | null | undefined): string => isolate(name ?? translate('unnamed'))

/** Whole years since a date of birth. */
export function ageInYears(birthDate: string, now = today()): number {
  const [year = 0, month = 0, day = 0] = birthDate.split('-').map(Number)
  const [thisYear = 0, thisMonth = 0, thisDay = 0] = now.split('-').map(Number)
  const isBefore = thisMonth < month || (thisMonth === month && thisDay < day)
  return thisYear - year - (isBefore ? 1 : 0)
}
