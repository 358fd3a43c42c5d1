import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/violation.ts'
import { placeOf, TextFault } from '../formats/text-fault.ts'
import type { ObjectConstraint, Terms } from '../opt/constraints.ts'
import { rmClass } from '../rm/classes.ts'
import { readDefinition } from './definition.ts'
import { membersOf, readMembers, toldAt } from './odin.ts'
import { Scanner } from './scanner.ts'

/** What an archetype in ADL 1.4 says. */
export interface Adl {
  id: string
  concept: string
  rmType: string
  root: ObjectConstraint
}

const ID = /^openEHR-[A-Za-z]+-([A-Z_]+)\.([A-Za-z0-9_-]+)\.v\d+[A-Za-z0-9.-]*$/
const NEEDED = ['concept', 'language', 'definition', 'ontology'] as const
/** With what a section begins; texts may have lines that begin with the same word. */
const HEADING =
  /^[ \t]*(archetype|speciali[sz]e|concept|language|description|definition|invariant|ontology|annotations|revision_history)\b(?=[ \t]*(?:\r?$|--|[([]|[A-Z_]+\[|\w+[ \t]*=))/gm

/** Where a section is, behind its heading. */
interface Section {
  from: number
  to: number
}
type Sections = ReadonlyMap<string, Section>

/**
 * Reads an archetype: what it is about, and its nodes.
 * @throws MalformedRequest for what is no text; InvalidInput for what is no archetype, naming all that is missing; RuleViolated
 * with line and column for a definition or an ontology that cannot be read
 */
export function readAdl(bytes: Uint8Array): Adl {
  const text = textOf(bytes)
  const sections = sectionsIn(text)
  const within = (name: string): string => {
    const { from, to } = sections.get(name) ?? { from: 0, to: 0 }
    return text.slice(from, to)
  }
  const version = /adl_version\s*=\s*([\d.]+)/.exec(within('archetype'))?.[1]
  const id =
    within('archetype')
      .split(/\s+/)
      .find((word) => ID.test(word)) ?? ''
  const [, rmType = '', name = ''] = ID.exec(id) ?? []
  const violations = [
    ...(rmClass(rmType)
      ? []
      : [fault('archetype', 'pattern', 'must name the archetype: openEHR-EHR-OBSERVATION.body_weight.v2')]),
    ...(version && version !== '1.4' ? [fault('archetype', 'version', 'must be ADL 1.4')] : []),
    ...NEEDED.filter((one) => !sections.has(one)).map((one) => fault(one, 'required', 'is required')),
  ]
  const root = new Scanner(within('definition'), 0).take(/[A-Z_]+(?=\[)/y)
  if (violations.length === 0 && root !== rmType)
    violations.push(fault('definition', 'root', `must be of ${rmType}, as the id says`))
  if (violations.length > 0) throw new ServiceError('InvalidInput', { violations })
  const read = <T>(section: string, work: (scanner: Scanner) => T) =>
    readSection(text, sections, section, work)
  const terms = read('ontology', (scanner) => termsIn(scanner, languageIn(within('language'))))
  return {
    ...{ id, rmType },
    concept: conceptIn(within('concept')) ?? terms.get('at0000')?.text ?? name,
    root: read('definition', (scanner) => readDefinition(scanner, { id, terms })),
  }
}

function readSection<T>(text: string, sections: Sections, section: string, work: (scanner: Scanner) => T): T {
  const { from, to } = sections.get(section) as Section
  try {
    return work(new Scanner(text.slice(0, to), from))
  } catch (error) {
    if (!(error instanceof TextFault)) throw error
    const { line, column } = placeOf(text, error.offset)
    const message = `cannot be read: line ${line}, column ${column}: ${error.message}`
    throw new ServiceError('RuleViolated', {
      violations: [{ path: section, code: 'adl', message, line, column }],
      cause: error,
    })
  }
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
      violations: [fault('', 'encoding', 'must be a text in UTF-8')],
      cause: error,
    })
  }
}

function sectionsIn(text: string): Sections {
  const sections = new Map<string, Section>()
  let last: Section | undefined
  for (const { 0: heading, 1: name = '', index } of text.matchAll(HEADING)) {
    // The first of its name: texts further down may have lines that begin so, too.
    if (sections.has(name)) continue
    if (last) last.to = index
    last = { from: index + heading.length, to: text.length }
    sections.set(name, last)
  }
  return sections
}

/** `[at0000]	-- Body weight` */
const conceptIn = (section: string): string | undefined =>
  /\[at0000[\d.]*\][ \t]*--[ \t]*(\S.{0,250})/.exec(section)?.[1]?.trim()

const languageIn = (section: string): string =>
  /original_language\s*=\s*<\s*\[[\w-]+::([\w-]+)\]/.exec(section)?.[1] ?? ''

/** What the codes mean, in the language that the archetype was written in. */
function termsIn(scanner: Scanner, language: string): Terms {
  const ontology = readMembers(scanner)
  scanner.end('a name or the end of the ontology')
  const languages = membersOf(ontology.get('term_definitions'))
  const told = languages?.get(language) ?? languages?.values().next().value
  const items = membersOf(toldAt(told, 'items') ?? told) ?? new Map()
  return new Map([...items].map(([code, item]) => [code, { text: String(toldAt(item, 'text') ?? '') }]))
}
