import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/violation.ts'
import { rmClass } from '../rm/classes.ts'

/** What an archetype in ADL 1.4 says of itself. */
export interface Adl {
  id: string
  concept: string
  rmType: string
}

const ID = /^openEHR-[A-Za-z]+-([A-Z_]+)\.([A-Za-z0-9_-]+)\.v\d+[A-Za-z0-9.-]*$/
const NEEDED = ['concept', 'language', 'definition', 'ontology']
const HEADING =
  /^[ \t]*(archetype|speciali[sz]e|concept|language|description|definition|invariant|ontology)\b/

/**
 * Reads the head of an archetype; its nodes are shown as templates have them.
 * @throws MalformedRequest for what is no text; InvalidInput for what is no archetype, naming all that is missing
 */
export function readAdl(bytes: Uint8Array): Adl {
  const sections = sectionsOf(textOf(bytes))
  const [version, id = ''] = [
    /adl_version\s*=\s*([\d.]+)/.exec(sections.get('archetype')?.[0] ?? ''),
    idIn(sections),
  ]
  const [, rmType = '', name = ''] = ID.exec(id) ?? []
  const violations = [
    ...(rmClass(rmType)
      ? []
      : [fault('archetype', 'pattern', 'must name the archetype: openEHR-EHR-OBSERVATION.body_weight.v2')]),
    ...(version && version[1] !== '1.4' ? [fault('archetype', 'version', 'must be ADL 1.4')] : []),
    ...NEEDED.filter((one) => !sections.has(one)).map((one) => fault(one, 'required', 'is required')),
  ]
  const root = sections.get('definition')?.map(wordIn).find(Boolean)
  if (violations.length === 0 && root !== rmType)
    violations.push(fault('definition', 'root', `must be of ${rmType}, as the id says`))
  if (violations.length > 0) throw new ServiceError('InvalidInput', { violations })
  return { id, concept: conceptIn(sections) ?? name, rmType }
}

const fault = (path: string, code: string, message: string): Violation => ({
  path,
  code,
  message,
})

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new ServiceError('MalformedRequest', {
      detail: 'The archetype must be a text in UTF-8.',
      cause: error,
    })
  }
}

/** The lines of each section, with that of its heading. */
function sectionsOf(text: string): Map<string, string[]> {
  const sections = new Map<string, string[]>()
  let lines: string[] = []
  for (const line of text.split(/\r?\n/)) {
    const heading = HEADING.exec(line)?.[1]
    // The first of its name: texts further down may have lines that begin so, too.
    if (heading !== undefined && !sections.has(heading)) {
      lines = []
      sections.set(heading, lines)
    }
    lines.push(line)
  }
  return sections
}

const idIn = (sections: ReadonlyMap<string, string[]>): string | undefined =>
  sections
    .get('archetype')
    ?.flatMap((line) => line.trim().split(/\s+/))
    .find((word) => ID.test(word))

/** The class with which a line begins. */
const wordIn = (line: string): string | undefined => /^\s*([A-Z_]+)\[/.exec(line)?.[1]

/** `[at0000]	-- Body weight` */
const conceptIn = (sections: ReadonlyMap<string, string[]>): string | undefined =>
  sections
    .get('concept')
    ?.flatMap((line) => /\[at0000[\d.]*\]\s*--\s*(\S.{0,250})/.exec(line)?.[1]?.trim() ?? [])[0]
