import { within } from './reading.ts'

/** A LINK of the reference model. */
export interface Link {
  meaning: string
  type: string
  target: string
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** All links of a composition, those of its parts too. */
export function linksIn(object: unknown): Link[] {
  if (typeof object !== 'object' || object === null) return []
  return Object.entries(object).flatMap(([name, value]) =>
    name === 'links' && Array.isArray(value) ? value.map(linkOf) : linksIn(value),
  )
}

const linkOf = (link: unknown): Link => ({
  meaning: text(within(link, 'meaning', 'value')),
  type: text(within(link, 'type', 'value')),
  target: text(within(link, 'target', 'value')),
})

/** The ids that a target names: `ehr://<system>/<EHR>/<composition>::<system>::1/content[…]` */
export const targetsOf = (target: string): string[] =>
  target
    .replace(/^ehr:\/*/, '')
    .replace(/[[?#].*$/s, '')
    .split('/')
    .slice(0, 8)
    .map((segment) => segment.split('::')[0] ?? '')
    .filter((id) => /^[A-Za-z0-9_-]{8,64}$/.test(id))
