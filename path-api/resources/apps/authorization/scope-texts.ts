import { needsPatient, resourceScopesOf } from '../../../../records/accounts/apps/app-scopes.ts'
import { isMapped } from '../../../../records/fhir/mapping.ts'
import { CLASS_NAMES, classKindOf } from '../../../../records/kinds.ts'
import type { ResourceScope } from '../../../../schemas/accounts/app.ts'
import type { InterfaceLanguage } from '../../../../schemas/code-lists.ts'
import { type PageText, translate, translateName } from '../../../pages/page.ts'

/** The name of a resource type for people: the word of its kind, a text of the pages, or its own name. */
function typeName(type: string, language: InterfaceLanguage): string {
  if (type === '*') return translate(language, 'authorizeEverything')
  const kinds = CLASS_NAMES.map(classKindOf).filter(({ fhir }) => isMapped(fhir) && fhir.type === type)
  const [kind, ...others] = kinds
  return kind && others.length === 0 ? kind.words[language] : translateName(language, type)
}

/** The kinds of access, each with the letters of scopes that give it. */
const RIGHTS: readonly [text: PageText, letters: RegExp][] = [
  ['authorizeSee', /[rs]/],
  ['authorizeWrite', /[cu]/],
  ['authorizeDelete', /d/],
]

function nameOf({ type, category }: ResourceScope, language: InterfaceLanguage): string {
  const name = typeName(type, language)
  if (category === undefined) return name
  return `${name} (${translate(language, 'authorizeOnly', { category: category.replace(/^.*\|/, '') })})`
}

/** What the app learns of the person who logs in. */
function identityText(scopes: readonly string[]): PageText | undefined {
  if (scopes.includes('fhirUser')) return 'authorizeUser'
  return scopes.includes('openid') ? 'authorizeWho' : undefined
}

/** The scopes of an app in words: the kind of access, and the data. */
export function describeScopes(
  scopes: readonly string[],
  language: InterfaceLanguage,
): [right: PageText, data: string][] {
  const resources = resourceScopesOf(scopes)
  const rights = RIGHTS.map(([text, letters]): [PageText, string] => {
    const names = resources.filter((one) => letters.test(one.letters)).map((one) => nameOf(one, language))
    return [text, [...new Set(names)].join(', ')]
  })
  const identity = identityText(scopes)
  return [
    ...rights.filter(([, data]) => data !== ''),
    ...(identity ? [['authorizeIdentity', translate(language, identity)] as [PageText, string]] : []),
  ]
}

/** The duration of the access. */
export function durationText(scopes: readonly string[]): PageText {
  if (scopes.includes('offline_access')) return 'authorizeOffline'
  return scopes.includes('online_access') ? 'authorizeOnline' : 'authorizeHour'
}

/** Whether the app reaches the data of more people than one patient. */
export const reachesEverybody = (scopes: readonly string[]): boolean =>
  resourceScopesOf(scopes).some(({ level }) => level === 'user') || !needsPatient(scopes)
