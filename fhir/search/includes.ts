import { parameterError } from '../outcome/issue.ts'
import type { ResourceDescription } from '../sources/resource-source.ts'
import type { SearchParameters } from './parse-search.ts'

/** Resources of the type `source` refer to those of the type `target` by a search parameter. */
export interface Include {
  source: string
  parameter: string
  target: string
  /** The path of the reference. */
  path: string
}

/** The resources that a search includes: those that its matches refer to, and those that refer to its matches. */
export interface Includes {
  forward: readonly Include[]
  reverse: readonly Include[]
}

/** `Observation:based-on`. */
export const includeName = ({ source, parameter }: Include): string => `${source}:${parameter}`

/** The includes that a search of a type offers. */
export function knownIncludes(
  { type }: ResourceDescription,
  types: readonly ResourceDescription[],
): Includes {
  const typeNames = new Set(types.map((one) => one.type))
  const allIncludes = types.flatMap(({ type: source, parameters }) =>
    Object.entries(parameters).flatMap(([parameter, { references }]) =>
      (references?.types ?? []).flatMap((target) =>
        typeNames.has(target) && references ? [{ source, parameter, target, path: references.path }] : [],
      ),
    ),
  )
  return {
    forward: allIncludes.filter(({ source }) => source === type),
    reverse: allIncludes.filter(({ target }) => target === type),
  }
}

/**
 * @param mayFind whether the caller may search a type
 * @throws InvalidInput for a value that names no reference of the type, and for modifiers
 */
export function parseIncludes(
  description: ResourceDescription,
  types: readonly ResourceDescription[],
  parameters: SearchParameters,
  mayFind: (type: string) => boolean,
): Includes {
  const unsupportedKey = Object.keys(parameters).find((key) => /^_(rev)?include:/.test(key))
  if (unsupportedKey !== undefined)
    throw parameterError(
      unsupportedKey,
      'not-supported',
      'is not supported: only direct references are included',
    )
  if (parameters._include === undefined && parameters._revinclude === undefined)
    return { forward: [], reverse: [] }
  const availableIncludes = knownIncludes(description, types)
  return {
    forward: chosenIncludes('_include', parameters, availableIncludes.forward, ({ target }) =>
      mayFind(target),
    ),
    reverse: chosenIncludes('_revinclude', parameters, availableIncludes.reverse, ({ source }) =>
      mayFind(source),
    ),
  }
}

/**
 * The includes that the values of a parameter name: `*`, `Type:*`, `Type:parameter` or `Type:parameter:Target`. A value
 * with several means those that the caller may have. A single one stays, and its search refuses it.
 */
function chosenIncludes(
  name: string,
  parameters: SearchParameters,
  availableIncludes: readonly Include[],
  isPermitted: (include: Include) => boolean,
): Include[] {
  const values = [parameters[name] ?? []].flat().map(String).filter(Boolean)
  const includes = values.flatMap((value) => {
    const [source, parameter, target, ...rest] = value === '*' ? ['*', '*'] : value.split(':')
    const matches = (pattern: string | undefined, part: string) => pattern === '*' || pattern === part
    const matchingIncludes = availableIncludes.filter(
      (one) =>
        matches(source, one.source) &&
        matches(parameter, one.parameter) &&
        matches(target ?? '*', one.target),
    )
    const permitted = matchingIncludes.filter(isPermitted)
    if (matchingIncludes.length > 0 && rest.length === 0)
      return permitted.length > 0 || parameter === '*' ? permitted : matchingIncludes
    const names = ['*', ...new Set(availableIncludes.map(includeName))].join(', ')
    const message =
      availableIncludes.length > 0 ? `must be one of ${names}` : 'is not supported for this type'
    throw parameterError(name, 'not-supported', message)
  })
  // Some parameters, such as patient and subject, find the same references.
  return [...new Map(includes.map((one) => [`${one.source} ${one.path} ${one.target}`, one])).values()]
}
