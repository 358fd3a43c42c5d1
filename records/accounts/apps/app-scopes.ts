import type { ResourceScope } from '../../../schemas/accounts/app.ts'

/** Scopes that name no resources: the identity of the user, the patient of the launch, and the lifetime. */
export const CONTEXT_SCOPES = [
  'openid',
  'fhirUser',
  'profile',
  'launch',
  'launch/patient',
  'offline_access',
  'online_access',
] as const
type ContextScope = (typeof CONTEXT_SCOPES)[number]

const isContextScope = (text: string): text is ContextScope =>
  (CONTEXT_SCOPES as readonly string[]).includes(text)

/** Interactions of SMART 1, in those of SMART 2. */
const V1_LETTERS: Readonly<Record<string, string>> = { read: 'rs', write: 'cud', '*': 'cruds' }

const RESOURCE_SCOPE =
  /^(patient|user|system)\/([A-Z][A-Za-z]{1,63}|\*)\.(read|write|\*|(?=[cruds])c?r?u?d?s?)(?:\?category=([^?&=]+))?$/

/** Searches know further tokens, such as `system|` and lists. */
const CATEGORY = /^(?:[^|]+\|)?[^|]+$/
/** Other characters than those of a scope, and those with a meaning in searches. */
const NOT_IN_CATEGORY = /[^!-~]|["%&,=?\\]/

/** A category of a scope, percent-encoded or not: `code` or `system|code`; undefined for any other text. */
function parseCategory(text: string): string | undefined {
  try {
    const category = decodeURIComponent(text)
    return CATEGORY.test(category) && !NOT_IN_CATEGORY.test(category) ? category : undefined
  } catch {
    return undefined
  }
}

/** The resources that a scope of SMART 1 or 2 names; undefined for any other text. */
function parseResourceScope(text: string): ResourceScope | undefined {
  const [, level, type, letters, categoryText] = RESOURCE_SCOPE.exec(text) ?? []
  if (level === undefined || type === undefined || letters === undefined) return undefined
  const category = categoryText === undefined ? undefined : parseCategory(categoryText)
  if (categoryText !== undefined && category === undefined) return undefined
  return {
    level: level as ResourceScope['level'],
    type,
    letters: V1_LETTERS[letters] ?? letters,
    ...(category !== undefined && { category }),
  }
}

export const isKnownScope = (text: string): boolean =>
  isContextScope(text) || parseResourceScope(text) !== undefined

export const isSystemScope = (text: string): boolean => parseResourceScope(text)?.level === 'system'

/** The scopes of a text that name resources. */
export const resourceScopesOf = (scopes: readonly string[]): ResourceScope[] =>
  scopes.flatMap((one) => parseResourceScope(one) ?? [])

const formatScope = ({ level, type, letters, category }: ResourceScope): string =>
  `${level}/${type}.${letters}${category === undefined ? '' : `?category=${category}`}`

/** The intersection of two scopes; undefined if it is empty. */
function commonScope(a: ResourceScope, b: ResourceScope): ResourceScope | undefined {
  const isOtherType = a.type !== b.type && a.type !== '*' && b.type !== '*'
  const isOtherCategory = a.category !== b.category && a.category !== undefined && b.category !== undefined
  const letters = [...a.letters].filter((letter) => b.letters.includes(letter)).join('')
  if (a.level !== b.level || isOtherType || isOtherCategory || letters === '') return undefined
  return {
    level: a.level,
    type: a.type === '*' ? b.type : a.type,
    letters,
    category: a.category ?? b.category,
  }
}

/**
 * Reduces requested scopes to those that the app may have. Texts that are not scopes are left out. A scope that is granted
 * as a whole keeps its text, so that apps of SMART 1 recognise it.
 */
export function reduceScopes(requestedScopes: string, permittedScopes: readonly string[]): string[] {
  const limits = resourceScopesOf(permittedScopes)
  const grantedScopes = requestedScopes.split(' ').flatMap((text): string[] => {
    if (isContextScope(text)) return permittedScopes.includes(text) ? [text] : []
    const scope = parseResourceScope(text)
    if (!scope) return []
    const scopeText = formatScope(scope)
    const common = limits.flatMap((limit) => commonScope(scope, limit) ?? []).map(formatScope)
    return common.includes(scopeText) ? [text] : common
  })
  return [...new Set(grantedScopes)]
}

/** Reduces granted scopes to those that the app may still have. */
export const reduceResourceScopes = (
  scopes: readonly ResourceScope[],
  permittedScopes: readonly string[],
): ResourceScope[] => resourceScopesOf(reduceScopes(scopes.map(formatScope).join(' '), permittedScopes))

/** Whether the app gets a patient: that of the launch, or one that the person chooses. */
export const needsPatient = (scopes: readonly string[]): boolean =>
  scopes.includes('launch') ||
  scopes.includes('launch/patient') ||
  resourceScopesOf(scopes).some(({ level }) => level === 'patient')
