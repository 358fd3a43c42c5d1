import { toLowerCaseUuid } from '../../schemas/validation/uuid.ts'
import { valueAt } from './read-composition.ts'

/** A LINK of the reference model. */
export interface Link {
  meaning: string
  type: string
  target: string
}

const textOrEmpty = (value: unknown): string => (typeof value === 'string' ? value : '')

/** All links of a composition and of its parts. */
export function findLinks(object: unknown): Link[] {
  if (typeof object !== 'object' || object === null) return []
  return Object.entries(object).flatMap(([name, value]) =>
    name === 'links' && Array.isArray(value) ? value.map(toLink) : findLinks(value),
  )
}

const toLink = (link: unknown): Link => ({
  meaning: textOrEmpty(valueAt(link, 'meaning', 'value')),
  type: textOrEmpty(valueAt(link, 'type', 'value')),
  target: textOrEmpty(valueAt(link, 'target', 'value')),
})

/** The ids in a target, UUIDs also in small letters: `ehr://<system>/<EHR>/<composition>::<system>::1/content[…]` */
export const targetIds = (target: string): string[] =>
  target
    .replace(/^ehr:\/*/, '')
    .replace(/[[?#].*/s, '')
    .split('/')
    .slice(0, 8)
    .map((segment) => segment.split('::')[0] ?? '')
    .filter((id) => /^[A-Za-z0-9_-]{8,64}$/.test(id))
    .flatMap((id) => [...new Set([id, toLowerCaseUuid(id)])])
