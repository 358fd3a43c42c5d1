import { TextFault } from '../formats/text-fault.ts'
import type {
  ArchetypeRoot,
  AttributeConstraint,
  Code,
  Interval,
  ObjectConstraint,
} from '../opt/constraints.ts'
import { membersOf, type Odin, readOdin, toldAt } from './odin.ts'
import type { Scanner } from './scanner.ts'

/** Nodes of one archetype, those counted again that are used again. */
const MOST_NODES = 10_000
/** How deep they may be, used ones included. */
const DEEPEST = 100

const MATCHES = /matches\b|is_in\b|∈/y
const CLASS = /[A-Z][A-Z0-9_]*(?:<[A-Z][A-Z0-9_<>,]*>)?(?=\s*(?:\[|<|∈|(?:matches|is_in|occurrences)\b))/y
const NODE_ID = /\[(?:at|id)\d+(?:\.\d+)*\]/y
const PATH = /(?:\/[a-z]\w*(?:\[[^\][\n]{1,200}\])?)+/y
const STEPS = /\/([a-z]\w*)(?:\[([\w.]+)[^\][\n]*\])?/g
const RANGE = /\*|\d{1,9}(?:\s*\.\.\s*(?:\*|\d{1,9}))?/y
const ORDER = /(?:;\s*(?:un)?ordered\s*|;\s*(?:non-)?unique\s*)+/y
/** What primitive types are held against: a number, a date and its pattern, a duration, a range, true or false. */
const PRIMITIVE = /\|[^|\n]*\||(?:true\b|false\b|yyyy|[A-Z\d+-])[\w:?.+/-]*/y

/** A node that is described elsewhere in the archetype. */
interface Use {
  at: number
  path: string
  node: ObjectConstraint
}

/**
 * Reads the definition of an archetype, in cADL 1.4: its nodes, and of their values what types and codes they may have. Nothing is
 * validated by it, so ranges and patterns are passed over, and a slot is a node with nothing below it.
 * @throws TextFault for what is no cADL, or too large
 */
export function readDefinition(scanner: Scanner, archetype: ArchetypeRoot): ObjectConstraint {
  const reader = new DefinitionReader(scanner, archetype)
  const root = { ...reader.object(), isRoot: true }
  scanner.end('the end of the definition')
  for (const use of reader.uses) follow(use, root)
  const [first] = reader.uses
  if (first) requireSmall(root, first.at)
  return root
}

class DefinitionReader {
  readonly uses: Use[] = []
  readonly #scanner: Scanner
  readonly #archetype: ArchetypeRoot
  #count = 0

  constructor(scanner: Scanner, archetype: ArchetypeRoot) {
    this.#scanner = scanner
    this.#archetype = archetype
  }

  /** `ELEMENT[at0004] occurrences matches {0..1} matches {…}` */
  object(): ObjectConstraint {
    const scanner = this.#scanner
    const node = this.#head()
    if (scanner.sees(/</y)) return this.#ofProfile(node)
    if (scanner.take(MATCHES) !== undefined)
      this.#inBraces(() => {
        while (!scanner.sees(/\}/y)) node.attributes.push(this.#attribute())
      })
    return node
  }

  #head(): ObjectConstraint {
    const rmType = this.#scanner.need(CLASS, 'a class')
    const nodeId = this.#scanner.take(NODE_ID)?.slice(1, -1) ?? ''
    return this.#node(rmType, { nodeId, occurrences: this.#range('occurrences') ?? ONCE })
  }

  #node(rmType: string, told: Partial<ObjectConstraint> = {}): ObjectConstraint {
    if (++this.#count > MOST_NODES) throw tooMany(this.#scanner.at)
    const archetype = this.#archetype
    return { rmType, nodeId: '', occurrences: ONCE, attributes: [], archetype, isRoot: false, ...told }
  }

  /** `{…}`, or `{*}`: anything. */
  #inBraces(read: () => void): void {
    const scanner = this.#scanner
    scanner.need(/\{/y, '{')
    scanner.nested(() => {
      if (scanner.take(/\*/y) === undefined) read()
    })
    scanner.need(/\}/y, '}')
  }

  /** `occurrences matches {0..1}`, if it comes next. */
  #range(name: 'occurrences' | 'existence' | 'cardinality'): Interval | undefined {
    const scanner = this.#scanner
    if (scanner.take(new RegExp(`${name}\\b`, 'y')) === undefined) return undefined
    scanner.need(MATCHES, 'matches')
    scanner.need(/\{/y, '{')
    const told = scanner.need(RANGE, 'a range such as 0..1')
    if (name === 'cardinality') scanner.take(ORDER)
    scanner.need(/\}/y, '}')
    const [from = '*', to = from] = told.split('..').map((end) => end.trim())
    const [lower, upper] = [from === '*' ? 0 : Number(from), to === '*' ? undefined : Number(to)]
    return { lower, ...(upper !== undefined && { upper }), lowerIncluded: true, upperIncluded: true }
  }

  /** `items cardinality matches {0..*; unordered} matches {…}` */
  #attribute(): AttributeConstraint {
    const scanner = this.#scanner
    const name = scanner.need(/[a-z]\w*/y, 'an attribute or }')
    const [before, cardinality] = [this.#range('existence'), this.#range('cardinality')]
    const existence = before ?? this.#range('existence') ?? ONCE
    const children: ObjectConstraint[] = []
    scanner.need(MATCHES, 'matches')
    this.#inBraces(() => {
      do children.push(...this.#alternative())
      while (!scanner.sees(/\}/y))
    })
    return {
      name,
      existence,
      multiple: cardinality !== undefined,
      ...(cardinality && { cardinality }),
      children,
    }
  }

  /** What an attribute may hold; none when nothing is told of it that a tree shows. */
  #alternative(): ObjectConstraint[] {
    const scanner = this.#scanner
    if (scanner.take(/allow_archetype\b/y) !== undefined) return [this.#slot()]
    if (scanner.take(/use_node\b/y) !== undefined) return [this.#use()]
    if (scanner.sees(CLASS)) return [this.object()]
    if (scanner.sees(/\[/y)) return [this.#node('CODE_PHRASE', { codes: this.#codes() })]
    if (scanner.sees(/-?\d+\s*\|\s*\[/y)) return [this.#node('DV_ORDINAL', { ordinals: this.#ordinals() })]
    return this.#primitive()
  }

  /** Which archetypes fill it is not looked at. */
  #slot(): ObjectConstraint {
    const node = this.#head()
    if (this.#scanner.take(MATCHES) !== undefined) this.#inBraces(() => this.#assertions())
    return node
  }

  #assertions(): void {
    const scanner = this.#scanner
    while (!scanner.sees(/\}/y)) {
      const isText = (['"', '/', '^'] as const).some((quote) => scanner.quoted(quote) !== undefined)
      if (isText) continue
      if (scanner.sees(/\{/y)) this.#inBraces(() => this.#assertions())
      else scanner.need(/[\w.]+(?:\/[\w.]+)*|[^\w\s{}"^]/y, 'an assertion or }')
    }
  }

  #use(): ObjectConstraint {
    const scanner = this.#scanner
    const rmType = scanner.need(/[A-Z][A-Z0-9_]*/y, 'a class')
    const nodeId = scanner.take(NODE_ID)?.slice(1, -1) ?? ''
    const node = this.#node(rmType, { nodeId, occurrences: this.#range('occurrences') ?? ONCE })
    const { at } = scanner
    this.uses.push({ at, path: scanner.need(PATH, 'the path of a node'), node })
    return node
  }

  /** `[local::at1000, at1001; at1000]`, `[openehr::146]`; `[ac0001]` names codes that are somewhere else. */
  #codes(): { terminology: string; list: string[] } {
    const scanner = this.#scanner
    if (scanner.take(/\[ac\d+(?:\.\d+)*\]/y) !== undefined) return { terminology: 'local', list: [] }
    const terminology = scanner
      .need(/\[\s*[\w.-]{1,100}(?:\([\w.-]{1,100}\))?\s*::/y, 'codes such as [local::at0005]')
      .replaceAll(/[[:\s]/g, '')
    const list: string[] = []
    while (!scanner.sees(/[;\]]/y)) {
      list.push(scanner.need(/[\w.-]{1,200}/y, 'a code'))
      if (scanner.take(/,/y) === undefined) break
    }
    if (scanner.take(/;/y) !== undefined) scanner.need(/[\w.-]{1,200}/y, 'the assumed code')
    scanner.need(/\]/y, 'a comma or ]')
    return { terminology, list }
  }

  /** `0|[local::at0005], 1|[local::at0006]; 0` */
  #ordinals(): { value: number; symbol: Code }[] {
    const scanner = this.#scanner
    const ordinals: { value: number; symbol: Code }[] = []
    do {
      const value = Number(scanner.need(/-?\d{1,9}/y, 'a number'))
      scanner.need(/\|/y, '|')
      const { terminology, list } = this.#codes()
      ordinals.push(...list.map((code) => ({ value, symbol: { terminology, code } })))
    } while (scanner.take(/,/y) !== undefined)
    if (scanner.take(/;/y) !== undefined) scanner.need(/-?\d{1,9}/y, 'the assumed number')
    return ordinals
  }

  /** `"one", "other"`, `|0..100|`, `PT24H`, `/a.+/`; several have commas between them, an assumed one a semicolon before it. */
  #primitive(): ObjectConstraint[] {
    const scanner = this.#scanner
    const list: string[] = []
    let isList = true
    do {
      const text = scanner.quoted('"')
      if (text !== undefined) list.push(text)
      else {
        const isMore = scanner.take(/\.\.\./y) !== undefined
        isList = false
        if (!isMore && scanner.quoted('/') === undefined && scanner.quoted('^') === undefined)
          scanner.need(PRIMITIVE, 'an object, a value or }')
      }
    } while (scanner.take(/[,;]/y) !== undefined)
    return isList ? [this.#node('String', { primitive: { type: 'string', list } })] : []
  }

  /** `C_DV_QUANTITY <…>`: what the profile of the reference model says in a form of its own. */
  #ofProfile(node: ObjectConstraint): ObjectConstraint {
    const told = readOdin(this.#scanner)
    const rmType = node.rmType.replace(/^C_/, '')
    if (rmType === 'DV_ORDINAL') return { ...node, rmType, ordinals: ordinalsIn(toldAt(told, 'list')) }
    const codes = membersOf(toldAt(told, 'code_list')) ?? toldAt(told, 'code_list')
    const list = typeof codes === 'string' ? [codes] : [...(codes?.values() ?? [])].map(String)
    const terminology = String(toldAt(told, 'terminology_id', 'value') ?? '')
    return { ...node, rmType, ...(rmType === 'CODE_PHRASE' && { codes: { terminology, list } }) }
  }
}

const ONCE: Interval = { lower: 1, upper: 1, lowerIncluded: true, upperIncluded: true }

const tooMany = (at: number) =>
  new TextFault(at, `has more than ${MOST_NODES} nodes, or is deeper than ${DEEPEST}`)

const ordinalsIn = (list: Odin | undefined) =>
  [...(membersOf(list)?.values() ?? [])].map((one) => {
    const [terminology = '', code = ''] = String(toldAt(one, 'symbol') ?? '')
      .replaceAll(/[[\]]/g, '')
      .split('::')
    return { value: Number(toldAt(one, 'value')), symbol: { terminology, code } }
  })

/** Has a node be as the one that it names. @throws TextFault when there is none */
function follow({ at, path, node }: Use, root: ObjectConstraint): void {
  let named: ObjectConstraint | undefined = root
  for (const [, name, nodeId] of path.matchAll(STEPS)) {
    const children: ObjectConstraint[] | undefined = named?.attributes.find(
      (one) => one.name === name,
    )?.children
    named = children?.find((one) => nodeId === undefined || one.nodeId === nodeId)
  }
  if (!named)
    throw new TextFault(at, `expected the path of a node of this archetype, found ${path.slice(0, 200)}`)
  node.attributes = named.attributes
  node.nodeId ||= named.nodeId
}

/** @throws TextFault when an archetype is too large by what it uses again, or has no end: what holds a node may use it */
function requireSmall(root: ObjectConstraint, at: number): void {
  let count = 0
  const visit = ({ attributes }: ObjectConstraint, depth: number): void => {
    if (++count > MOST_NODES || depth > DEEPEST) throw tooMany(at)
    for (const { children } of attributes) for (const child of children) visit(child, depth + 1)
  }
  visit(root, 0)
}
