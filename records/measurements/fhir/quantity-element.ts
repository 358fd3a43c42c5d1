import { ucumCodeOf, unitNames } from '../../../schemas/measurements/units.ts'
import { isUcumCode } from '../../../schemas/types/ucum-code.ts'
import { numberOf } from '../../fhir/decimal.ts'
import { elementPath, type FhirJson, memberOf } from '../../fhir/element-paths.ts'
import { ownUri, TERMINOLOGY } from '../../fhir/elements.ts'
import type { FhirElement, FieldValues } from '../../fhir/fhir-element.ts'
import { type Quantity, valuesInOwnUnits } from '../quantities/quantity.ts'

const UCUM = 'http://unitsofmeasure.org'
const SENT_QUANTITY = ownUri('sent-quantity')

/** Units that the profiles of vital signs do not allow. */
const CONVERTED_UNITS: readonly (string | undefined)[] = ['kPa', 'K', 'm', '[ft_i]']

/** The units besides the quantity's own one in which resources show it, by code, with the names that records have. */
export const otherShownUnits = ({ kind, unit }: Quantity): Map<string, string[]> => {
  const names = unitNames(kind).filter((name) => !CONVERTED_UNITS.includes(ucumCodeOf(name)))
  const codes = new Set(names.map((name) => ucumCodeOf(name) ?? name))
  codes.delete(unit)
  return new Map([...codes].map((code) => [code, names.filter((name) => ucumCodeOf(name) === code)]))
}

/** A quantity as sent. The unit of a data type may be any text, and only a code of UCUM is shown as one. */
export function plainQuantity(value: unknown, unit: unknown): FhirJson {
  const code = ucumCodeOf(unit) ?? String(unit)
  return { value, unit, ...(isUcumCode(code) && { system: UCUM, code }) }
}

const ownValueOf = (name: string, quantity: Quantity, values: FieldValues): number | undefined =>
  valuesInOwnUnits({ [name]: quantity }, values)[quantity.inUnit]

/** The value as sent; in the quantity's own unit if the profile lacks the sent one, which an extension keeps. */
function showQuantity(name: string, quantity: Quantity, record: FieldValues): FhirJson | undefined {
  const value = record[name]
  const unit = record[`${name}Unit`] ?? quantity.unit
  if (value === undefined) return undefined
  const sentQuantity = plainQuantity(value, unit)
  if (!CONVERTED_UNITS.includes(ucumCodeOf(unit))) return sentQuantity
  const ownValue = ownValueOf(name, quantity, { ...record, [name]: numberOf(value) })
  const extension = [{ url: SENT_QUANTITY, valueQuantity: sentQuantity }]
  return { extension, ...plainQuantity(ownValue, quantity.unit) }
}

/** The unit by the name that was sent, if it is one of this code. */
export const readUnit = ({ unit, code }: FhirJson): unknown =>
  unit !== undefined && ucumCodeOf(unit) === code ? unit : code

function readQuantity(name: string, quantity: Quantity, element: unknown): FieldValues {
  const fhirQuantity = (typeof element === 'object' && element !== null ? element : {}) as FhirJson
  const extensions = Array.isArray(fhirQuantity.extension) ? fhirQuantity.extension : []
  const sentQuantity = extensions.find((one) => one?.url === SENT_QUANTITY)?.valueQuantity as
    | FhirJson
    | undefined
  const fields = ({ value, ...unit }: FhirJson) => ({ [name]: value, [`${name}Unit`]: readUnit(unit) })
  const original = sentQuantity && fields(sentQuantity)
  const plain = original && { ...original, [name]: numberOf(original[name]) }
  const isSame = plain && ownValueOf(name, quantity, plain) === numberOf(fhirQuantity.value)
  return isSame ? original : fields(fhirQuantity)
}

/** A quantity and its unit. @param path `valueQuantity` */
export function quantityElement(name: string, quantity: Quantity, path = 'valueQuantity'): FhirElement {
  const fhirPath = elementPath(path)
  return {
    paths: { [name]: `${path}.value`, [`${name}Unit`]: `${path}.code` },
    show: (record) => {
      const element = showQuantity(name, quantity, record)
      return element ? fhirPath.show(element) : {}
    },
    read: (resource) => readQuantity(name, quantity, fhirPath.read(resource)),
  }
}

const VALUE = elementPath('valueQuantity.value')
const CODINGS = elementPath('code.coding')

/** A number in the quantity's own unit. */
export const ownUnitElement = (field: string, { unit }: Quantity): FhirElement => ({
  paths: { [field]: 'valueQuantity.value' },
  show: (record) =>
    record[field] === undefined ? {} : { valueQuantity: plainQuantity(record[field], unit) },
  read: (resource) => ({ [field]: VALUE.read(resource) }),
})

const codingsIn = (component: unknown): FhirJson[] => {
  const codings = CODINGS.read(component)
  return Array.isArray(codings) ? codings : []
}

/** Profiles demand a component also for a value that nobody knows. */
const UNKNOWN_COMPONENT = {
  dataAbsentReason: { coding: [{ system: `${TERMINOLOGY}/data-absent-reason`, code: 'unknown' }] },
}

/** A quantity as a component, which its LOINC code identifies. */
export function componentElement(name: string, quantity: Quantity, code: FhirJson): FhirElement {
  const { loinc } = quantity.codes
  const path = `component.where(code.coding.code='${loinc}').valueQuantity`
  return {
    paths: { [name]: `${path}.value`, [`${name}Unit`]: `${path}.code` },
    show: (record) => {
      const element = showQuantity(name, quantity, record)
      return { component: [{ code, ...(element ? { valueQuantity: element } : UNKNOWN_COMPONENT) }] }
    },
    read: ({ component }) => {
      const components: unknown[] = Array.isArray(component) ? component : []
      const measuredComponent = components.find((one) =>
        codingsIn(one).some((coding) => coding?.code === loinc),
      )
      return readQuantity(name, quantity, memberOf(measuredComponent, 'valueQuantity'))
    },
  }
}
