import { lookUp } from '../../schemas/validation/look-up.ts'
import type { XmlElement } from '../formats/xml.ts'
import type { Code, ObjectConstraint, Primitive, Slot } from './constraints.ts'
import { createTextMatcher, type TextMatcher } from './text-matcher.ts'
import {
  childElement,
  childElements,
  elementText,
  elementTexts,
  readNumberInterval,
  readTextInterval,
} from './xml-elements.ts'

/** The leaf constraints of a template: primitive types, codes, quantities, ordinals, slots. */

export function readPrimitive(xml: XmlElement): Primitive | undefined {
  if (xml.type !== 'C_PRIMITIVE_OBJECT') return undefined
  const item = childElement(xml, 'item')
  if (item === undefined) return undefined
  const list = elementTexts(item, 'list')
  const pattern = elementText(item, 'pattern') || undefined
  const kind = item.type ?? `C_${elementText(xml, 'rm_type_name')}`
  switch (kind) {
    case 'C_STRING':
      return {
        type: 'string',
        ...(list.length > 0 && { list }),
        ...(elementText(item, 'list_open') === 'true' && { isOpen: true }),
        ...(pattern && { pattern }),
      }
    case 'C_BOOLEAN':
      return {
        type: 'boolean',
        trueValid: elementText(item, 'true_valid') !== 'false',
        falseValid: elementText(item, 'false_valid') !== 'false',
      }
    case 'C_INTEGER':
    case 'C_REAL': {
      const range = readNumberInterval(childElement(item, 'range'))
      const numbers = list.map(Number).filter(Number.isFinite)
      return { type: 'number', ...(numbers.length > 0 && { list: numbers }), ...(range && { range }) }
    }
    default:
      return readTemporal(kind, item, pattern)
  }
}

const TEMPORAL_TYPES: Readonly<Record<string, 'date' | 'time' | 'date-time' | 'duration'>> = {
  C_DATE: 'date',
  C_TIME: 'time',
  C_DATE_TIME: 'date-time',
  C_DURATION: 'duration',
}

function readTemporal(kind: string, item: XmlElement, pattern: string | undefined): Primitive | undefined {
  const type = lookUp(TEMPORAL_TYPES, kind)
  if (type === undefined) return undefined
  const range = readTextInterval(childElement(item, 'range'))
  return { type, ...(pattern && { pattern }), ...(range && { range }) }
}

type ProfileConstraints = Pick<ObjectConstraint, 'codes' | 'quantity' | 'ordinals'>

/** The constraints of the openEHR profile. */
export function readProfileConstraints(xml: XmlElement): ProfileConstraints {
  switch (xml.type) {
    case 'C_CODE_PHRASE':
      return { codes: readCodes(xml) }
    case 'C_CODE_REFERENCE':
      return { codes: readCodeReference(xml) }
    case 'C_DV_QUANTITY':
      return { quantity: readQuantity(xml) }
    case 'C_DV_ORDINAL':
      return { ordinals: readOrdinals(xml) }
    default:
      return {}
  }
}

/** Codes may include their terminology: `[local::at0005]`. */
function readCodes(xml: XmlElement): ObjectConstraint['codes'] & object {
  const terminology = elementText(xml, 'terminology_id', 'value')
  return {
    terminology,
    list: elementTexts(xml, 'code_list')
      .map((code) => code.trim())
      .filter(Boolean),
  }
}

/** Codes of a reference set, which `referenceSetUri` names: `terminology:SNOMED-CT?subset=…`. */
function readCodeReference(xml: XmlElement): ObjectConstraint['codes'] & object {
  const referenceSet = elementText(xml, 'referenceSetUri').replace(/^\w+:/, '')
  const terminology = elementText(xml, 'terminology_id', 'value')
  return { terminology, list: [], ...(referenceSet && { referenceSet }) }
}

const readCode = (xml: XmlElement | undefined): Code => ({
  terminology: elementText(xml, 'terminology_id', 'value'),
  code: elementText(xml, 'code_string'),
})

function readQuantity(xml: XmlElement): ObjectConstraint['quantity'] & object {
  const property = childElement(xml, 'property')
  const list = childElements(xml, 'list').map((one) => {
    const magnitude = readNumberInterval(childElement(one, 'magnitude'))
    const precision = readNumberInterval(childElement(one, 'precision'))
    return {
      units: elementText(one, 'units'),
      ...(magnitude && { magnitude }),
      ...(precision && { precision }),
    }
  })
  return { ...(property && { property: readCode(property) }), list }
}

const readOrdinals = (xml: XmlElement): ObjectConstraint['ordinals'] & object =>
  childElements(xml, 'list').map((one) => ({
    value: Number(elementText(one, 'value')),
    symbol: readCode(childElement(childElement(one, 'symbol'), 'defining_code')),
  }))

/** Reads a slot's assertions in the form `archetype_id/value matches {/pattern/}`; ignores any other form. */
export function readSlot(xml: XmlElement): Slot {
  return { includes: slotPatterns(xml, 'includes'), excludes: slotPatterns(xml, 'excludes') }
}

function slotPatterns(xml: XmlElement, name: string): TextMatcher[] {
  const expressions = childElements(xml, name).flatMap((assertion) =>
    assertionPatterns(childElement(assertion, 'expression')),
  )
  return expressions.map(createTextMatcher)
}

function assertionPatterns(xml: XmlElement | undefined): string[] {
  if (xml === undefined) return []
  const pattern = elementText(xml, 'item', 'pattern')
  return [
    ...(pattern ? [pattern] : []),
    ...xml.children.flatMap((child) => (child.name === 'item' ? [] : assertionPatterns(child))),
  ]
}
