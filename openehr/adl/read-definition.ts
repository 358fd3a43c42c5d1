import { TextSyntaxError } from '../formats/text-syntax-error.ts'
import type {
  ArchetypeRoot,
  AttributeConstraint,
  Code,
  Interval,
  ObjectConstraint,
} from '../opt/constraints.ts'
import { type OdinValue, odinAt, odinMembers, readOdin } from './odin.ts'
import type { AdlScanner } from './scanner.ts'

/** Maximum number of nodes of one archetype; reused nodes count each time. */
const MAX_NODES = 10_000
/** Maximum depth of nodes, reused ones included. */
const MAX_DEPTH = 100

const MATCHES_KEYWORD = /matches\b|is_in\b|∈/y
const CLASS_NAME =
  /[A-Z][A-Z0-9_]*(?:<[A-Z][A-Z0-9_<>,]*>)?(?=\s*(?:\[|<|∈|(?:matches|is_in|occurrences)\b))/y
const NODE_ID = /\[(?:at|id)\d+(?:\.\d+)*\]/y
const NODE_PATH = /(?:\/[a-z]\w*(?:\[[^\][\n]{1,200}\])?)+/y
const PATH_STEPS = /\/([a-z]\w*)(?:\[([\w.]+)(?:[^\][\n\w.][^\][\n]*)?\])?/g
const RANGE_TEXT = /\*|\d{1,9}(?:\s*\.\.\s*(?:\*|\d{1,9}))?/y
/** Some scores have halves: `0.5`. */
const ORDINAL_VALUE = /-?\d{1,9}(?:\.\d{1,9})?/y
// cspell:ignore ique
const CONTAINER_FLAGS = /(?:;\s*(?:ordered|un(?:ordered|ique)|non-unique)\s*)+/y
/** Constraints on primitive types: a number, a date and its pattern, a duration, a range, true or false. */
const PRIMITIVE_CONSTRAINT = /\|[^|\n]*\||(?:true\b|false\b|yyyy|[A-Z\d+-])[\w:?.+/-]*/y

/** A reference to a node in another place of the archetype. */
interface NodeReference {
  position: number
  path: string
  node: ObjectConstraint
}

/**
 * Reads the definition of an archetype in cADL 1.4: its nodes, and the types and codes of their values. It
 * serves only to show the archetype, not to validate data, so it skips ranges and patterns, and a slot has no
 * nodes below it.
 * @throws TextSyntaxError for invalid cADL, or if the archetype is too large
 */
export function readDefinition(scanner: AdlScanner, archetype: ArchetypeRoot): ObjectConstraint {
  const reader = new DefinitionReader(scanner, archetype)
  const root = { ...reader.object(), isRoot: true }
  scanner.expectEnd('the end of the definition')
  for (const use of reader.references) resolveReference(use, root)
  const [first] = reader.references
  if (first) requireMaxNodes(root, first.position)
  return root
}

class DefinitionReader {
  readonly references: NodeReference[] = []
  readonly #scanner: AdlScanner
  readonly #archetype: ArchetypeRoot
  #count = 0

  constructor(scanner: AdlScanner, archetype: ArchetypeRoot) {
    this.#scanner = scanner
    this.#archetype = archetype
  }

  /** `ELEMENT[at0004] occurrences matches {0..1} matches {…}` */
  object(): ObjectConstraint {
    const scanner = this.#scanner
    const node = this.#head()
    if (scanner.isNext(/</y)) return this.#ofProfile(node)
    if (scanner.take(MATCHES_KEYWORD) !== undefined)
      this.#inBraces(() => {
        while (!scanner.isNext(/\}/y)) node.attributes.push(this.#attribute())
      })
    return node
  }

  #head(): ObjectConstraint {
    const rmType = this.#scanner.expect(CLASS_NAME, 'a class')
    const nodeId = this.#scanner.take(NODE_ID)?.slice(1, -1) ?? ''
    return this.#node(rmType, { nodeId, occurrences: this.#range('occurrences') ?? EXACTLY_ONCE })
  }

  #node(rmType: string, properties: Partial<ObjectConstraint> = {}): ObjectConstraint {
    if (++this.#count > MAX_NODES) throw tooManyNodes(this.#scanner.position)
    const archetype = this.#archetype
    return {
      rmType,
      nodeId: '',
      occurrences: EXACTLY_ONCE,
      attributes: [],
      archetype,
      isRoot: false,
      ...properties,
    }
  }

  /** `{…}`; `{*}` means anything. */
  #inBraces(read: () => void): void {
    const scanner = this.#scanner
    scanner.expect(/\{/y, '{')
    scanner.readNested(() => {
      if (scanner.take(/\*/y) === undefined) read()
    })
    scanner.expect(/\}/y, '}')
  }

  /** `occurrences matches {0..1}`, if it comes next. */
  #range(name: 'occurrences' | 'existence' | 'cardinality'): Interval | undefined {
    const scanner = this.#scanner
    if (scanner.take(new RegExp(`${name}\\b`, 'y')) === undefined) return undefined
    scanner.expect(MATCHES_KEYWORD, 'matches')
    scanner.expect(/\{/y, '{')
    const range = scanner.expect(RANGE_TEXT, 'a range such as 0..1')
    if (name === 'cardinality') scanner.take(CONTAINER_FLAGS)
    scanner.expect(/\}/y, '}')
    const [from = '*', to = from] = range.split('..').map((end) => end.trim())
    const lower = from === '*' ? 0 : Number(from)
    const upper = to === '*' ? undefined : Number(to)
    return { lower, ...(upper !== undefined && { upper }), lowerIncluded: true, upperIncluded: true }
  }

  /** `items cardinality matches {0..*; unordered} matches {…}` */
  #attribute(): AttributeConstraint {
    const scanner = this.#scanner
    const name = scanner.expect(/[a-z]\w*/y, 'an attribute or }')
    const before = this.#range('existence')
    const cardinality = this.#range('cardinality')
    const existence = before ?? this.#range('existence') ?? EXACTLY_ONCE
    const children: ObjectConstraint[] = []
    scanner.expect(MATCHES_KEYWORD, 'matches')
    this.#inBraces(() => {
      do children.push(...this.#alternative())
      while (!scanner.isNext(/\}/y))
    })
    return {
      name,
      existence,
      multiple: cardinality !== undefined,
      ...(cardinality && { cardinality }),
      children,
    }
  }

  /** The permitted objects of an attribute; empty if a tree would show none of them. */
  #alternative(): ObjectConstraint[] {
    const scanner = this.#scanner
    if (scanner.take(/allow_archetype\b/y) !== undefined) return [this.#slot()]
    if (scanner.take(/use_node\b/y) !== undefined) return [this.#use()]
    if (scanner.isNext(CLASS_NAME)) return [this.object()]
    if (scanner.isNext(/\[/y)) return [this.#node('CODE_PHRASE', { codes: this.#codes() })]
    if (scanner.isNext(/-?\d+(?:\.\d+)?\s*\|\s*\[/y))
      return [this.#node('DV_ORDINAL', { ordinals: this.#ordinals() })]
    return this.#primitive()
  }

  /** Skips the archetypes that may fill the slot. */
  #slot(): ObjectConstraint {
    const node = this.#head()
    if (this.#scanner.take(MATCHES_KEYWORD) !== undefined) this.#inBraces(() => this.#assertions())
    return node
  }

  #assertions(): void {
    const scanner = this.#scanner
    while (!scanner.isNext(/\}/y)) {
      const isText = (['"', '/', '^'] as const).some((quote) => scanner.takeQuoted(quote) !== undefined)
      if (isText) continue
      if (scanner.isNext(/\{/y)) this.#inBraces(() => this.#assertions())
      else scanner.expect(/[\w.]+(?:\/[\w.]+)*|[^\w\s{}"^]/y, 'an assertion or }')
    }
  }

  #use(): ObjectConstraint {
    const scanner = this.#scanner
    const rmType = scanner.expect(/[A-Z][A-Z0-9_]*/y, 'a class')
    const nodeId = scanner.take(NODE_ID)?.slice(1, -1) ?? ''
    const node = this.#node(rmType, { nodeId, occurrences: this.#range('occurrences') ?? EXACTLY_ONCE })
    const { position } = scanner
    this.references.push({ position, path: scanner.expect(NODE_PATH, 'the path of a node'), node })
    return node
  }

  /** `[local::at1000, at1001; at1000]`, `[openehr::146]`; `[ac0001]` refers to codes in another place. */
  #codes(): { terminology: string; list: string[] } {
    const scanner = this.#scanner
    if (scanner.take(/\[ac\d+(?:\.\d+)*\]/y) !== undefined) return { terminology: 'local', list: [] }
    const terminology = scanner
      .expect(/\[\s*[\w.-]{1,100}(?:\([\w.-]{1,100}\))?\s*::/y, 'codes such as [local::at0005]')
      .replaceAll(/[[:\s]/g, '')
    const list: string[] = []
    while (!scanner.isNext(/[;\]]/y)) {
      list.push(scanner.expect(/[\w.-]{1,200}/y, 'a code'))
      if (scanner.take(/,/y) === undefined) break
    }
    if (scanner.take(/;/y) !== undefined) scanner.expect(/[\w.-]{1,200}/y, 'the assumed code')
    scanner.expect(/\]/y, 'a comma or ]')
    return { terminology, list }
  }

  /** `0|[local::at0005], 1|[local::at0006]; 0` */
  #ordinals(): { value: number; symbol: Code }[] {
    const scanner = this.#scanner
    const ordinals: { value: number; symbol: Code }[] = []
    do {
      const value = Number(scanner.expect(ORDINAL_VALUE, 'a number'))
      scanner.expect(/\|/y, '|')
      const { terminology, list } = this.#codes()
      ordinals.push(...list.map((code) => ({ value, symbol: { terminology, code } })))
    } while (scanner.take(/,/y) !== undefined)
    if (scanner.take(/;/y) !== undefined) scanner.expect(ORDINAL_VALUE, 'the assumed number')
    return ordinals
  }

  /**
   * `"one", "other"`, `|0..100|`, `PT24H`, `/a.+/`; commas separate several, a semicolon precedes an assumed
   * value.
   */
  #primitive(): ObjectConstraint[] {
    const scanner = this.#scanner
    const list: string[] = []
    let isList = true
    do {
      const text = scanner.takeQuoted('"')
      if (text !== undefined) list.push(text)
      else {
        const isMore = scanner.take(/\.\.\./y) !== undefined
        isList = false
        if (!isMore && scanner.takeQuoted('/') === undefined && scanner.takeQuoted('^') === undefined)
          scanner.expect(PRIMITIVE_CONSTRAINT, 'an object, a value or }')
      }
    } while (scanner.take(/[,;]/y) !== undefined)
    return isList ? [this.#node('String', { primitive: { type: 'string', list } })] : []
  }

  /** `C_DV_QUANTITY <…>`: a constraint of the openEHR profile in ODIN. */
  #ofProfile(node: ObjectConstraint): ObjectConstraint {
    const profile = readOdin(this.#scanner)
    const rmType = node.rmType.replace(/^C_/, '')
    if (rmType === 'DV_ORDINAL') return { ...node, rmType, ordinals: readOrdinals(odinAt(profile, 'list')) }
    const codes = odinMembers(odinAt(profile, 'code_list')) ?? odinAt(profile, 'code_list')
    const list = typeof codes === 'string' ? [codes] : [...(codes?.values() ?? [])].map(String)
    const terminology = String(odinAt(profile, 'terminology_id', 'value') ?? '')
    return { ...node, rmType, ...(rmType === 'CODE_PHRASE' && { codes: { terminology, list } }) }
  }
}

const EXACTLY_ONCE: Interval = { lower: 1, upper: 1, lowerIncluded: true, upperIncluded: true }

const tooManyNodes = (position: number) =>
  new TextSyntaxError(position, `has more than ${MAX_NODES} nodes, or is deeper than ${MAX_DEPTH}`)

const readOrdinals = (list: OdinValue | undefined) =>
  [...(odinMembers(list)?.values() ?? [])].map((one) => {
    const [terminology = '', code = ''] = String(odinAt(one, 'symbol') ?? '')
      .replaceAll(/[[\]]/g, '')
      .split('::')
    return { value: Number(odinAt(one, 'value')), symbol: { terminology, code } }
  })

/** Replaces a reference by the node that it names. @throws TextSyntaxError when there is no such node */
function resolveReference({ position, path, node }: NodeReference, root: ObjectConstraint): void {
  let target: ObjectConstraint | undefined = root
  for (const [, name, nodeId] of path.matchAll(PATH_STEPS)) {
    const children: ObjectConstraint[] | undefined = target?.attributes.find(
      (one) => one.name === name,
    )?.children
    target = children?.find((one) => nodeId === undefined || one.nodeId === nodeId)
  }
  if (!target)
    throw new TextSyntaxError(
      position,
      `expected the path of a node of this archetype, found ${path.slice(0, 200)}`,
    )
  node.attributes = target.attributes
  node.nodeId ||= target.nodeId
}

/**
 * @throws TextSyntaxError when reused nodes make an archetype too large, or endless because a node reuses its
 * own ancestor
 */
function requireMaxNodes(root: ObjectConstraint, position: number): void {
  let count = 0
  const visit = ({ attributes }: ObjectConstraint, depth: number): void => {
    if (++count > MAX_NODES || depth > MAX_DEPTH) throw tooManyNodes(position)
    for (const { children } of attributes) for (const child of children) visit(child, depth + 1)
  }
  visit(root, 0)
}
