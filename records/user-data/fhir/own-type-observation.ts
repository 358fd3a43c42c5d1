import { elementAt } from '../../fhir/element-paths.ts'
import { ownUri, TERMINOLOGY, valueElement } from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'
import type { FhirMapping } from '../../fhir/mapping.ts'
import { constantToken, type FhirSearchParameter } from '../../fhir/search/search-parameters.ts'
import { parseToken } from '../../fhir/search/search-values.ts'
import { COMMON_ELEMENTS, COMMON_SEARCH, REQUIRED_ELEMENTS } from '../../measurements/fhir/observation.ts'
import { plainQuantity, readUnit } from '../../measurements/fhir/quantity-element.ts'

type Codings = readonly { system?: unknown; code?: unknown }[]

const codeIn = (resource: unknown, system: string): unknown => {
  const codings = elementAt(resource, 'code.coding')
  const typeCoding = (Array.isArray(codings) ? (codings as Codings) : []).find(
    (one) => one?.system === system,
  )
  return typeCoding?.code
}

/** The name of a type as a code of our own, with the display name of the type. */
const typeElement = (field: string, system: string): FhirElement => ({
  paths: { [field]: 'code.coding[0].code' },
  show: ({ [field]: code, name }) => ({
    code: { coding: [{ system, code }], ...(name !== undefined && { text: name }) },
  }),
  read: (resource) => ({ [field]: codeIn(resource, system) }),
})

const typeParameter = (field: string, system: string): FhirSearchParameter => ({
  type: 'token',
  description: 'Code of the observation',
  field,
  modifiers: ['not'],
  where: ({ text, modifier }) => {
    const token = parseToken(text)
    if (token.system !== undefined && token.system !== system) return modifier === 'not'
    if (token.code === undefined) return modifier !== 'not'
    return { [field]: modifier === 'not' ? { not: token.code } : token.code }
  },
})

/** Says that there is a value that FHIR has no element for. */
const unsupportedElement = (...fields: string[]): FhirElement => ({
  paths: {},
  show: (record) =>
    fields.some((field) => record[field] !== undefined)
      ? {
          dataAbsentReason: {
            coding: [{ system: `${TERMINOLOGY}/data-absent-reason`, code: 'unsupported' }],
          },
        }
      : {},
  read: () => ({}),
})

/** An observation whose code is a type that modellers define. */
function ownTypeObservation(field: string, values: readonly FhirElement[]): FhirMapping {
  const system = ownUri(field === 'dataType' ? 'data-type' : 'event-type')
  const code = typeParameter(field, system)
  return {
    type: 'Observation',
    elements: [typeElement(field, system), ...COMMON_ELEMENTS, ...values],
    required: REQUIRED_ELEMENTS,
    search: {
      ...COMMON_SEARCH,
      code,
      'combo-code': code,
      category: constantToken('Category of the observation', []),
    },
    sortedBy: 'date',
    isMeant: (resource) => codeIn(resource, system) !== undefined,
  }
}

/** Marks a unit that the client did not send, since it is that of the type. */
const IMPLIED_UNIT = ownUri('implied-unit')

const numberElement: FhirElement = {
  paths: { value: 'valueQuantity.value', unit: 'valueQuantity.code' },
  show: ({ value, unit, amountUnit }) => {
    if (value === undefined && unit === undefined) return {}
    const displayUnit = unit ?? amountUnit
    if (displayUnit === undefined) return { valueQuantity: { value } }
    const extension = [{ url: IMPLIED_UNIT, valueBoolean: true }]
    return {
      valueQuantity: { ...(unit === undefined && { extension }), ...plainQuantity(value, displayUnit) },
    }
  },
  read: (resource) => {
    const { value, ...unit } = (elementAt(resource, 'valueQuantity') ?? {}) as Record<string, unknown>
    return { value, unit: elementAt(unit, 'extension[0].url') === IMPLIED_UNIT ? undefined : readUnit(unit) }
  },
}

const deviceElement: FhirElement = {
  paths: { device: 'device.identifier' },
  show: ({ device }) => {
    if (device === undefined) return {}
    const { type, serial } = device as { type: string; serial?: string }
    return {
      device: { identifier: { type: { text: type }, ...(serial !== undefined && { value: serial }) } },
    }
  },
  read: (resource) => {
    const type = elementAt(resource, 'device.identifier.type.text')
    const serial = elementAt(resource, 'device.identifier.value')
    const device = { ...(type !== undefined && { type }), ...(serial !== undefined && { serial }) }
    return { device: Object.keys(device).length === 0 ? undefined : device }
  },
}

/** A measurement of a data type. */
export const typedObservation = ownTypeObservation('dataType', [
  numberElement,
  valueElement('valueText', 'valueString'),
  valueElement('valueBoolean', 'valueBoolean'),
  unsupportedElement('valueList', 'valueObject'),
  deviceElement,
])

/** An occurrence of an event type. */
export const occurrenceObservation = ownTypeObservation('eventType', [unsupportedElement('data')])
