import { isOpenEhrPath } from '../response/openehr-error.ts'
import { isFhirPath } from '../response/operation-outcome.ts'
import type { Json } from './schema-collector.ts'

/** The parts of the document, as `/openapi.json?family=` names them: the two API families, and the APIs of openEHR and FHIR. */
export const DOCUMENT_FAMILIES = ['path', 'class', 'openehr', 'fhir'] as const
export type DocumentFamily = (typeof DOCUMENT_FAMILIES)[number]

function familyOf(path: string): DocumentFamily {
  if (/^\/(1|functions)\//.test(path)) return 'class'
  if (isOpenEhrPath(path)) return 'openehr'
  return isFhirPath(path) ? 'fhir' : 'path'
}

/** The part of the document about one family, with the components that it refers to. */
export function selectFamily(document: Json, family: DocumentFamily): Json {
  const paths = Object.fromEntries(
    Object.entries(document.paths as Json).filter(([path]) => familyOf(path) === family),
  )
  const { securitySchemes, ...components } = document.components as Record<string, Json>
  const text = JSON.stringify(paths)
  const isUsed = ({ name }: { name: string }) => text.includes(`"tags":["${name}"]`)
  return {
    ...document,
    tags: (document.tags as { name: string }[]).filter(isUsed),
    paths,
    components: {
      ...selectReferenced(components, paths),
      securitySchemes: selectEntries(securitySchemes ?? {}, (name) => text.includes(`"${name}":[]`)),
    },
  }
}

/** The components to which the paths refer, directly or through each other. */
function selectReferenced(components: Record<string, Json>, paths: Json): Record<string, Json> {
  const names = new Set<string>()
  const open: unknown[] = [paths]
  for (const part of open)
    for (const [, kind = '', name = ''] of JSON.stringify(part).matchAll(
      /"#\/components\/(\w+)\/([^"]+)"/g,
    )) {
      if (names.has(`${kind}/${name}`)) continue
      names.add(`${kind}/${name}`)
      open.push(components[kind]?.[name])
    }
  return Object.fromEntries(
    Object.entries(components).map(([kind, members]) => [
      kind,
      selectEntries(members, (name) => names.has(`${kind}/${name}`)),
    ]),
  )
}

const selectEntries = (entries: Json, isSelected: (name: string) => boolean): Json =>
  Object.fromEntries(Object.entries(entries).filter(([name]) => isSelected(name)))
