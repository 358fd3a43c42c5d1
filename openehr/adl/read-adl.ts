import { ServiceError } from '../../schemas/errors.ts'
import { findRmClass } from '../../schemas/openehr/rm-classes.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { lineAndColumnOf, TextSyntaxError } from '../formats/text-syntax-error.ts'
import type { ObjectConstraint, TermDefinitions } from '../opt/constraints.ts'
import { requireExpandable } from '../opt/expansion.ts'
import { DEMOGRAPHIC_REFUSAL, isDemographic } from '../rm/node-ids.ts'
import { odinAt, odinMembers, readMembers } from './odin.ts'
import { readDefinition } from './read-definition.ts'
import { AdlScanner } from './scanner.ts'

/** A parsed archetype in ADL 1.4. */
export interface AdlArchetype {
  id: string
  concept: string
  rmType: string
  root: ObjectConstraint
}

const ARCHETYPE_ID = /^openEHR-[A-Za-z]+-([A-Z_]+)\.([A-Za-z0-9_-]+)\.v\d[A-Za-z0-9.-]*$/
const REQUIRED_SECTIONS = ['concept', 'language', 'definition', 'ontology'] as const
/** The headings of sections; texts may have lines that begin with the same word. */
const SECTION_HEADING =
  /^[ \t]*(archetype|specialise|specialize|concept|language|description|definition|invariant|ontology|annotations|revision_history)\b(?=[ \t]*(?:\r?$|--|[([]|[A-Z_]+\[|\w+[ \t]*=))/gm

/** The position of a section, without its heading. */
interface Section {
  from: number
  to: number
}
type Sections = ReadonlyMap<string, Section>

/**
 * Reads an archetype: its concept and its nodes.
 * @throws MalformedRequest for undecodable text; InvalidInput for an invalid archetype, with everything that
 * is missing; RuleViolated with line and column for an unreadable definition or ontology
 */
export function readAdl(bytes: Uint8Array): AdlArchetype {
  const text = decodeAdl(bytes)
  const sections = findSections(text)
  const within = (name: string): string => {
    const { from, to } = sections.get(name) ?? { from: 0, to: 0 }
    return text.slice(from, to)
  }
  const version = /adl_version\s*=\s*([\d.]+)/.exec(within('archetype'))?.[1]
  const id =
    within('archetype')
      .split(/\s+/)
      .find((word) => ARCHETYPE_ID.test(word)) ?? ''
  const [, rmType = '', name = ''] = ARCHETYPE_ID.exec(id) ?? []
  const violations = [
    ...idViolations(id, rmType),
    ...(version && version !== '1.4' ? [violationAt('archetype', 'version', 'must be ADL 1.4')] : []),
    ...REQUIRED_SECTIONS.filter((one) => !sections.has(one)).map((one) =>
      violationAt(one, 'required', 'is required'),
    ),
  ]
  const root = new AdlScanner(within('definition'), 0).take(/[A-Z_]+(?=\[)/y)
  if (violations.length === 0 && root !== rmType)
    violations.push(violationAt('definition', 'root', `must be of the class ${rmType}, which the id names`))
  if (violations.length > 0) throw new ServiceError('InvalidInput', { violations })
  const read = <T>(section: string, work: (scanner: AdlScanner) => T) =>
    readSection(text, sections, section, work)
  const terms = read('ontology', (scanner) => readTerms(scanner, findLanguage(within('language'))))
  const definition = read('definition', (scanner) => readDefinition(scanner, { id, terms }))
  requireExpandable(definition)
  return {
    id,
    rmType,
    concept: findConcept(within('concept')) ?? terms.get('at0000')?.text ?? name,
    root: definition,
  }
}

function readSection<T>(
  text: string,
  sections: Sections,
  section: string,
  work: (scanner: AdlScanner) => T,
): T {
  const { from, to } = sections.get(section) as Section
  try {
    return work(new AdlScanner(text.slice(0, to), from))
  } catch (error) {
    if (!(error instanceof TextSyntaxError)) throw error
    const { line, column } = lineAndColumnOf(text, error.offset)
    const message = `is not valid ADL: line ${line}, column ${column}: ${error.message}`
    throw new ServiceError('RuleViolated', {
      violations: [{ path: section, code: 'adl', message, line, column }],
      cause: error,
    })
  }
}

function idViolations(id: string, rmType: string): Violation[] {
  if (isDemographic(id)) return [violationAt('archetype', 'demographic', DEMOGRAPHIC_REFUSAL)]
  if (findRmClass(rmType)) return []
  const message = 'must name the archetype: openEHR-EHR-OBSERVATION.body_weight.v2'
  return [violationAt('archetype', 'pattern', message)]
}

const violationAt = (path: string, code: string, message: string): Violation => ({
  path,
  code,
  message,
})

function decodeAdl(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new ServiceError('MalformedRequest', {
      violations: [violationAt('', 'encoding', 'must be a text in UTF-8')],
      cause: error,
    })
  }
}

function findSections(text: string): Sections {
  const sections = new Map<string, Section>()
  let last: Section | undefined
  for (const { 0: heading, 1: name = '', index } of text.matchAll(SECTION_HEADING)) {
    // Only the first heading of a name counts, because texts below may have lines that begin the same way.
    if (sections.has(name)) continue
    if (last) last.to = index
    last = { from: index + heading.length, to: text.length }
    sections.set(name, last)
  }
  return sections
}

/** Finds the concept in a line such as `[at0000]	-- Body weight` */
const findConcept = (section: string): string | undefined =>
  /\[at0000[\d.]*\][ \t]*--[ \t]*(\S.{0,250})/.exec(section)?.[1]?.trim()

const findLanguage = (section: string): string =>
  /original_language\s*=\s*<\s*\[[\w-]+::([\w-]+)\]/.exec(section)?.[1] ?? ''

/** The terms of the codes, in the original language of the archetype. */
function readTerms(scanner: AdlScanner, language: string): TermDefinitions {
  const ontology = readMembers(scanner)
  scanner.expectEnd('a name or the end of the ontology')
  const languages = odinMembers(ontology.get('term_definitions'))
  const terms = languages?.get(language) ?? languages?.values().next().value
  const items = odinMembers(odinAt(terms, 'items') ?? terms) ?? new Map()
  return new Map([...items].map(([code, item]) => [code, { text: String(odinAt(item, 'text') ?? '') }]))
}
