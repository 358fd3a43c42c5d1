import { elementPath } from '../../fhir/element-paths.ts'
import {
  constantElement,
  extensionElement,
  type FhirCoding,
  ownUri,
  referenceElement,
  STRUCTURES,
  TERMINOLOGY,
  valueElement,
} from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'
import type { FhirMapping, FhirPart } from '../../fhir/mapping.ts'
import {
  anyOfConditions,
  codeByWordToken,
  codeValueParameter,
  constantToken,
  dateParameter,
  type FhirSearchParameter,
  identifierParameter,
  quantityParameter,
  referenceParameter,
  versionToken,
} from '../../fhir/search/search-parameters.ts'
import { type Quantity, roundToStored } from '../quantities/quantity.ts'
import { localTimeElement } from './local-time-element.ts'
import { LOINC, namedLoincCode } from './loinc-names.ts'
import { componentElement, otherShownUnits, ownUnitElement, quantityElement } from './quantity-element.ts'

const SNOMED = 'http://snomed.info/sct'

type ObservationCategory = 'vital-signs' | 'laboratory' | 'survey'

const categoryOf = (code: ObservationCategory): FhirCoding => ({
  system: `${TERMINOLOGY}/observation-category`,
  code,
})

const AMENDED_STATUSES = ['final', 'amended', 'corrected']

/** A measurement that has been corrected says so. */
const statusElement: FhirElement = {
  paths: {},
  show: ({ version }) => ({ status: Number(version ?? 1) > 1 ? 'amended' : 'final' }),
  read: () => ({}),
  accepted: { status: AMENDED_STATUSES },
}

/** The elements of every observation, besides its code and value. */
export const COMMON_ELEMENTS: readonly FhirElement[] = [
  statusElement,
  referenceElement('ehrId', 'subject', 'Patient'),
  referenceElement('carePlanId', 'basedOn[0]', 'CarePlan'),
  localTimeElement('effectiveDateTime'),
  valueElement('comment', 'note[0].text'),
]

export const REQUIRED_ELEMENTS = ['status', 'code', 'subject', 'effectiveDateTime']

const observationElements = (
  category: ObservationCategory,
  code: ObservationCode,
  text: string,
): FhirElement[] => [
  constantElement('category[0]', { coding: [categoryOf(category)] }),
  code.element(text),
  ...COMMON_ELEMENTS,
  valueElement('deviceId', 'device.identifier.value'),
  extensionElement('source', ownUri('source'), 'valueCode'),
]

/** The search parameters of every observation. */
export const COMMON_SEARCH = {
  status: versionToken('final'),
  date: dateParameter('Time of the measurement', 'timestamp'),
  'based-on': referenceParameter('Care plan', 'carePlanId', 'CarePlan'),
}

const observationSearch = (category: ObservationCategory, code: ObservationCode) => ({
  ...COMMON_SEARCH,
  category: constantToken('Category of the observation', [categoryOf(category)]),
  code: code.parameter('Code of the observation'),
  'combo-code': code.parameter('Code of the observation or of a component'),
  device: identifierParameter('Id of the device', 'deviceId'),
})

const codingsOf = ({ codes }: Quantity, ...more: FhirCoding[]): FhirCoding[] => [
  namedLoincCode(codes.loinc),
  ...more,
  { system: SNOMED, code: codes.snomed },
]

/** The codings of an observation as element and as search parameter. */
interface ObservationCode {
  /** Each resource has one of these codes. */
  codes: readonly FhirCoding[]
  /** The LOINC codes that identify the kind. */
  acceptedCodes: readonly FhirCoding[]
  element(text: string): FhirElement
  parameter(description: string): FhirSearchParameter
}

const isLoinc = ({ system }: FhirCoding): boolean => system === LOINC

/** All resources have the same codings. */
const sameCode = (codings: readonly FhirCoding[]): ObservationCode => ({
  codes: codings.slice(0, 1),
  acceptedCodes: codings.filter(isLoinc),
  element: (text) => constantElement('code', { coding: codings, text }),
  parameter: (description) => constantToken(description, codings),
})

/** The LOINC code may depend on the unit. */
function observationCode(
  name: string,
  quantity: Quantity,
  more: readonly FhirCoding[] = [],
): ObservationCode {
  const { loincByUnit } = quantity.codes
  const [ownCoding, ...otherCodings] = codingsOf(quantity, ...more) as [FhirCoding, ...FhirCoding[]]
  if (!loincByUnit) return sameCode([ownCoding, ...otherCodings])
  const unitField = `${name}Unit`
  const byUnit = Object.entries(loincByUnit).map(([unit, code]) => ({ unit, coding: namedLoincCode(code) }))
  const codes = [ownCoding, ...byUnit.map(({ coding }) => coding)]
  const codingOf = (unit: unknown) => byUnit.find((one) => one.unit === unit)?.coding ?? ownCoding
  return {
    codes,
    acceptedCodes: codes,
    element: (text) => ({
      paths: {},
      show: (record) => ({ code: { coding: [codingOf(record[unitField]), ...otherCodings], text } }),
      read: () => ({}),
    }),
    parameter: (description) =>
      codeByWordToken(description, unitField, {
        constant: otherCodings,
        usual: ownCoding,
        byWord: byUnit.map(({ unit, coding }) => [unit, coding]),
      }),
  }
}

function convertedQuantity(name: string, quantity: Quantity): FhirSearchParameter {
  const { inUnit: field, unit } = quantity
  const namesByCode = otherShownUnits(quantity)
  return quantityParameter('Measured value', {
    field,
    unit,
    toStored: roundToStored,
    ...(namesByCode.size > 0 && { shownUnits: { field: `${name}Unit`, namesByCode } }),
  })
}

const ownUnitQuantity = (field: string, { unit }: Quantity): FhirSearchParameter =>
  quantityParameter('Measured value', { field, unit, toStored: (value) => value.toNumber() })

const quantitySearch = (code: ObservationCode, value: FhirSearchParameter) => {
  const pair = codeValueParameter('Code and measured value: 8867-4$gt100', [
    { code: code.parameter('Code'), value },
  ])
  return {
    'value-quantity': value,
    'combo-value-quantity': value,
    'code-value-quantity': pair,
    'combo-code-value-quantity': pair,
  }
}

const CODINGS = elementPath('code.coding')

interface ObservationDefinition {
  /** The name of the profile, for vital signs. */
  profile?: string
  category?: ObservationCategory
  /** Further codes that the profile demands. */
  codes?: FhirCoding[]
  elements?: readonly FhirElement[]
  parts?: FhirMapping['parts']
}

const observation = (
  { profile, category = 'vital-signs', elements = [], parts }: ObservationDefinition,
  { code, text }: { code: ObservationCode; text: string },
  values: readonly FhirElement[],
  search: Readonly<Record<string, FhirSearchParameter>>,
): FhirMapping => ({
  type: 'Observation',
  codes: code.codes,
  ...(profile !== undefined && { profile: `${STRUCTURES}/${profile}` }),
  elements: [...observationElements(category, code, text), ...values, ...elements],
  required: REQUIRED_ELEMENTS,
  search: { ...observationSearch(category, code), ...search },
  sortedBy: 'date',
  isMeant: (resource) => {
    const codings = CODINGS.read(resource)
    return (
      Array.isArray(codings) &&
      code.acceptedCodes.some((acceptedCode) =>
        codings.some((one) => one?.system === LOINC && one.code === acceptedCode.code),
      )
    )
  },
  ...(parts && { parts }),
})

/** A measurement of one quantity. */
export const quantityObservation = (
  name: string,
  quantity: Quantity,
  definition: ObservationDefinition,
): FhirMapping => {
  const code = observationCode(name, quantity, definition.codes)
  return observation(
    definition,
    { code, text: quantity.label },
    [quantityElement(name, quantity)],
    quantitySearch(code, convertedQuantity(name, quantity)),
  )
}

/** A measurement whose only value is a number in the quantity's own unit. */
export const ownUnitObservation = (
  field: string,
  quantity: Quantity,
  definition: ObservationDefinition,
): FhirMapping => {
  const code = sameCode(codingsOf(quantity))
  return observation(
    definition,
    { code, text: quantity.label },
    [ownUnitElement(field, quantity)],
    quantitySearch(code, ownUnitQuantity(field, quantity)),
  )
}

/** A measurement whose quantities are components. */
export function componentObservation(
  { code: loinc, label, quantities }: { code: string; label: string; quantities: Record<string, Quantity> },
  definition: ObservationDefinition,
): FhirMapping {
  const codes = [namedLoincCode(loinc)]
  const code = sameCode(codes)
  const components = Object.values(quantities).flatMap((quantity) => codingsOf(quantity))
  const { category = 'vital-signs' } = definition
  const values = Object.entries(quantities).map(([name, quantity]) => ({
    code: constantToken('Code of a component', codingsOf(quantity)),
    value: convertedQuantity(name, quantity),
  }))
  const value = anyOfParameters(
    'Value of a component',
    values.map((one) => one.value),
  )
  const pair = codeValueParameter('Code and value of a component: 8480-6$gt140', values)
  return observation(
    definition,
    { code, text: label },
    Object.entries(quantities).map(([name, quantity]) =>
      componentElement(name, quantity, { coding: codingsOf(quantity), text: quantity.label }),
    ),
    {
      ...observationSearch(category, code),
      'component-code': constantToken('Code of a component', components),
      'combo-code': constantToken('Code of the observation or of a component', [...codes, ...components]),
      'component-value-quantity': value,
      'combo-value-quantity': value,
      'component-code-value-quantity': pair,
      'combo-code-value-quantity': pair,
    },
  )
}

/** A parameter that matches if one of these matches. */
const anyOfParameters = (
  description: string,
  parameters: readonly FhirSearchParameter[],
): FhirSearchParameter => ({
  type: 'quantity',
  description,
  modifiers: [],
  where: (value) => {
    const conditions = parameters.map((one) => one.where(value))
    return conditions.includes(undefined) ? undefined : anyOfConditions(conditions)
  },
})

/** A quantity of a record as an observation of its own. @param field the field by which records have it */
export function observationPart(
  name: string,
  quantity: Quantity,
  { profile, isNumber = false }: { profile: string; isNumber?: boolean },
): FhirPart {
  const whole = (isNumber ? ownUnitObservation : quantityObservation)(name, quantity, { profile })
  return {
    profile: `${STRUCTURES}/${profile}`,
    ...(whole.codes && { codes: whole.codes }),
    elements: whole.elements,
    search: whole.search,
    where: { [name]: { exists: true } },
    isIn: (record) => record[name] !== undefined,
  }
}
