/** `$group` by one component of an index, answered from its keys alone. */
import { type Document, Double, Int32 } from 'bson'
import { Sum } from '../../../language/expressions/operators/sum.ts'
import { bsonType, decode, isObject, toNumber } from '../../../values/bson-values.ts'
import { viewOf } from '../../../values/raw-documents.ts'
import { type CommandTimer, PAUSE } from '../../../values/steps.ts'
import type { Index } from '../../collections/indexes.ts'
import { SPACE_BYTES } from '../../collections/keys/key-encoding.ts'
import {
  endOfComponent,
  isInt32,
  KeyReader,
  NUMBER,
  numberAt,
  typeAt,
} from '../../collections/keys/key-reader.ts'
import type { View, Visitor } from '../../disk/overlay.ts'
import type { KeyBounds } from '../bounds.ts'
import { visitKeys } from '../query.ts'
import { ByteNumbers } from './byte-numbers.ts'
import { GroupTotals, type Totals } from './group-totals.ts'

/** An output field: an accumulator, and the component whose values it takes. */
interface Output {
  name: string
  accumulator: string
  /** Undefined: the accumulator counts. */
  component: number | undefined
}

export interface KeyGrouping {
  /** Undefined: all keys are one group. */
  by: number | undefined
  outputs: Output[]
}

/** Reads a valid `$group`. @returns undefined if the keys of the index cannot answer it */
export const keyGroupingOf = (index: Index, body: unknown): KeyGrouping | undefined => {
  if (!isObject(body)) return undefined
  const { _id, ...fields } = body
  const component = _id === null ? undefined : componentOf(index, _id)
  if (component === undefined && _id !== null) return undefined
  const outputs = Object.entries(fields).map(([name, spec]) => outputOf(index, name, spec))
  return outputs.includes(undefined) ? undefined : { by: component, outputs: outputs as Output[] }
}

const ACCUMULATORS = ['$sum', '$avg', '$min', '$max']

const outputOf = (index: Index, name: string, spec: unknown): Output | undefined => {
  const [accumulator = '', operand] = Object.entries(spec as object)[0] ?? []
  const counts = accumulator === '$count' || (accumulator === '$sum' && isCountOperand(operand))
  if (counts) return { name, accumulator: '$count', component: undefined }
  const component = componentOf(index, operand)
  return ACCUMULATORS.includes(accumulator) && component !== undefined
    ? { name, accumulator, component }
    : undefined
}

/** Whether a `$sum` counts. A sum of other types of 1 has their type, and a count is an Int32. */
export const isCountOperand = (value: unknown): boolean =>
  bsonType(value) === 'Int32' && toNumber(value) === 1

const componentOf = ({ fields, losses, cut }: Index, path: unknown): number | undefined => {
  const at = typeof path === 'string' && path.startsWith('$') ? fields.indexOf(path.slice(1)) : -1
  return at >= 0 && !cut && losses?.has(at) === false ? at : undefined
}

/** The keys of an index within some bounds, in groups. */
export class KeyGroups {
  readonly #index: Index
  readonly #grouping: KeyGrouping
  /** The component of each total. */
  readonly #summed: readonly number[]
  readonly #last: number
  readonly #idReader: KeyReader | undefined
  readonly #names = new ByteNumbers()
  /** A key of each group, for its value. */
  readonly #keys: Buffer[] = []
  /** The number of keys in each group. */
  readonly #counts: number[] = []
  readonly #totals: readonly GroupTotals[]
  /** A key has a value that is not a number. */
  #hasOthers = false

  constructor(index: Index, grouping: KeyGrouping) {
    const { by, outputs } = grouping
    this.#index = index
    this.#grouping = grouping
    this.#summed = [...new Set(outputs.flatMap(({ component }) => component ?? []))]
    this.#totals = this.#summed.map(() => new GroupTotals())
    this.#last = Math.max(by ?? -1, ...this.#summed)
    this.#idReader = by === undefined ? undefined : idReaderOf(index, by)
  }

  /** @returns the groups; undefined if the keys do not suffice after all */
  *read(
    view: View,
    bounds: readonly KeyBounds[],
    timer: CommandTimer,
  ): Generator<typeof PAUSE, Document[] | undefined> {
    for (const one of bounds) {
      const visit = this.#visitor(one)
      for (const _ of visitKeys(view, this.#index, { bounds: [one], reverse: false }, visit))
        if (timer.isSliceOver()) yield PAUSE
    }
    if (this.#hasOthers || !this.#totals.every((some) => some.areExact())) return undefined
    return this.#keys.map((key, group) => this.#document(key, group))
  }

  /** The components before the first one that differs are the same in all keys, so they are skipped. */
  #visitor({ low, prefixLength }: KeyBounds): Visitor {
    const masks = this.#index.descending.map((descends) => (descends ? -1 : 0))
    const { by } = this.#grouping
    const [first, offset] = this.#firstBehind(low, prefixLength, masks)
    let source = viewOf(low)
    let bytesSeen: Uint8Array = low
    const numbers = this.#summed.map(() => Number.NaN)
    return (bytes, start, end) => {
      if (bytes !== bytesSeen) {
        bytesSeen = bytes
        source = viewOf(bytes)
      }
      let from = start + offset
      let nameFrom = from
      let nameTo = from
      for (let at = first; at <= this.#last; at++) {
        const mask = masks[at] as number
        const type = typeAt(bytes, from, mask)
        const to = endOfComponent(bytes, from, type, mask)
        if (to < 0) return this.#giveUp()
        if (at === by) [nameFrom, nameTo] = [from, to]
        const total = this.#summed.indexOf(at)
        if (total >= 0) numbers[total] = type === NUMBER ? numberAt(source, from + 1, mask) : Number.NaN
        if (total >= 0 && type !== NUMBER && type !== NULL) return this.#giveUp()
        from = to
      }
      const group = this.#names.of(bytes, nameFrom, nameTo)
      if (group === this.#keys.length) {
        this.#keys.push(Buffer.from(bytes.subarray(start, end)))
        this.#counts.push(0)
      }
      ;(this.#counts[group] as number)++
      for (let i = 0; i < numbers.length; i++) {
        const number = numbers[i] as number
        if (!Number.isNaN(number)) this.#totals[i]?.add(group, number)
      }
      return true
    }
  }

  #giveUp(): false {
    this.#hasOthers = true
    return false
  }

  /** The first component that keys with these shared bytes may differ in, and its offset. */
  #firstBehind(
    low: Uint8Array,
    prefixLength: number,
    masks: readonly number[],
  ): [first: number, offset: number] {
    let first = 0
    let offset = SPACE_BYTES
    const neededComponents = [this.#grouping.by ?? -1, ...this.#summed]
    while (offset < prefixLength && !neededComponents.includes(first)) {
      const mask = masks[first] as number
      const end = endOfComponent(low, offset, typeAt(low, offset, mask), mask)
      if (end < 0 || end > prefixLength) break
      offset = end
      first++
    }
    return [first, offset]
  }

  #document(key: Buffer, group: number): Document {
    const document: Document = { _id: this.#groupIdIn(key) }
    const totals = this.#totals.map((some) => some.of(group))
    for (const { name, accumulator, component } of this.#grouping.outputs)
      document[name] =
        component === undefined
          ? new Int32(this.#counts[group] as number)
          : resultOf(accumulator, totals[this.#summed.indexOf(component)] as Totals)
    return document
  }

  #groupIdIn(key: Buffer): unknown {
    // Null and a missing value are one group.
    if (!this.#idReader?.append(key, 0)) return null
    let id: unknown
    for (const bytes of this.#idReader.take()) id = decode(bytes)._id
    return id
  }
}

/** Reads the component by which keys are grouped. */
const idReaderOf = ({ descending }: Index, component: number): KeyReader =>
  new KeyReader(
    descending.slice(0, component + 1).map((descends, at) => ({
      name: at === component ? '_id' : undefined,
      descending: descends,
    })),
  )

/** The type byte of null and of missing values. */
const NULL = 5

const numberValue = (number: number): unknown => (isInt32(number) ? new Int32(number) : new Double(number))

const resultOf = (accumulator: string, totals: Totals): unknown => {
  switch (accumulator) {
    case '$sum':
      return Sum.of(totals).value
    case '$avg':
      return totals.count === 0 ? null : new Double(Sum.of(totals).double / totals.count)
    case '$min':
      return totals.count === 0 ? null : numberValue(totals.least)
    default:
      return totals.count === 0 ? null : numberValue(totals.most)
  }
}
