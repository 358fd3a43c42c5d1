import type { XmlElement } from '../formats/xml.ts'
import type { Code, ObjectConstraint, Primitive, Slot } from './constraints.ts'
import { childOf, childrenOf, numbersOf, rangeOfTexts, textOf, textsOf } from './elements.ts'
import { type Pattern, patternOf } from './patterns.ts'

/** What the leaves of a template say of values: primitive types, codes, quantities, ordinals, slots. */

export function primitiveOf(xml: XmlElement): Primitive | undefined {
  if (xml.type !== 'C_PRIMITIVE_OBJECT') return undefined
  const item = childOf(xml, 'item')
  if (item === undefined) return undefined
  const list = textsOf(item, 'list')
  const pattern = textOf(item, 'pattern') || undefined
  const kind = item.type ?? `C_${textOf(xml, 'rm_type_name')}`
  switch (kind) {
    case 'C_STRING':
      return { type: 'string', ...(list.length > 0 && { list }), ...(pattern && { pattern }) }
    case 'C_BOOLEAN':
      return {
        type: 'boolean',
        trueValid: textOf(item, 'true_valid') !== 'false',
        falseValid: textOf(item, 'false_valid') !== 'false',
      }
    case 'C_INTEGER':
    case 'C_REAL': {
      const range = numbersOf(childOf(item, 'range'))
      const numbers = list.map(Number).filter(Number.isFinite)
      return { type: 'number', ...(numbers.length > 0 && { list: numbers }), ...(range && { range }) }
    }
    default:
      return temporalOf(kind, item, pattern)
  }
}

const TEMPORAL: Readonly<Record<string, 'date' | 'time' | 'date-time' | 'duration'>> = {
  C_DATE: 'date',
  C_TIME: 'time',
  C_DATE_TIME: 'date-time',
  C_DURATION: 'duration',
}

function temporalOf(kind: string, item: XmlElement, pattern: string | undefined): Primitive | undefined {
  const type = TEMPORAL[kind]
  if (type === undefined) return undefined
  const range = rangeOfTexts(childOf(item, 'range'))
  return { type, ...(pattern && { pattern }), ...(range && { range }) }
}

type Values = Pick<ObjectConstraint, 'codes' | 'quantity' | 'ordinals'>

/** The constraints of the openEHR profile. */
export function valuesOf(xml: XmlElement): Values {
  switch (xml.type) {
    case 'C_CODE_PHRASE':
      return { codes: codesOf(xml) }
    case 'C_CODE_REFERENCE':
      return { codes: { terminology: textOf(xml, 'terminology_id', 'value'), list: [] } }
    case 'C_DV_QUANTITY':
      return { quantity: quantityOf(xml) }
    case 'C_DV_ORDINAL':
      return { ordinals: ordinalsOf(xml) }
    default:
      return {}
  }
}

/** Codes may come with their terminology: `[local::at0005]`. */
function codesOf(xml: XmlElement): ObjectConstraint['codes'] & object {
  const terminology = textOf(xml, 'terminology_id', 'value')
  return {
    terminology,
    list: textsOf(xml, 'code_list')
      .map((code) => code.trim())
      .filter(Boolean),
  }
}

const codeOf = (xml: XmlElement | undefined): Code => ({
  terminology: textOf(xml, 'terminology_id', 'value'),
  code: textOf(xml, 'code_string'),
})

function quantityOf(xml: XmlElement): ObjectConstraint['quantity'] & object {
  const property = childOf(xml, 'property')
  const list = childrenOf(xml, 'list').map((one) => {
    const magnitude = numbersOf(childOf(one, 'magnitude'))
    const precision = numbersOf(childOf(one, 'precision'))
    return { units: textOf(one, 'units'), ...(magnitude && { magnitude }), ...(precision && { precision }) }
  })
  return { ...(property && { property: codeOf(property) }), list }
}

const ordinalsOf = (xml: XmlElement): ObjectConstraint['ordinals'] & object =>
  childrenOf(xml, 'list').map((one) => ({
    value: Number(textOf(one, 'value')),
    symbol: codeOf(childOf(childOf(one, 'symbol'), 'defining_code')),
  }))

/** A slot's assertions say `archetype_id/value matches {/pattern/}`; what is not said so is not understood. */
export function slotOf(xml: XmlElement): Slot {
  return { includes: patternsIn(xml, 'includes'), excludes: patternsIn(xml, 'excludes') }
}

function patternsIn(xml: XmlElement, name: string): Pattern[] {
  const expressions = childrenOf(xml, name).flatMap((assertion) =>
    patternsOf(childOf(assertion, 'expression')),
  )
  return expressions.map(patternOf)
}

function patternsOf(xml: XmlElement | undefined): string[] {
  if (xml === undefined) return []
  const own = textOf(xml, 'item', 'pattern')
  return [
    ...(own ? [own] : []),
    ...xml.children.flatMap((child) => (child.name === 'item' ? [] : patternsOf(child))),
  ]
}
