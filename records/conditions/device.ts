import { DeviceForms as forms } from '../../schemas/conditions/device.ts'
import { defineKind, type Values } from '../ehr-records/kind.ts'
import { blankViolations } from '../ehr-records/validation/field-violations.ts'
import { deviceMapping } from './fhir/device-mapping.ts'
import { normalizeText, searchTextsOf } from './search-words.ts'

/** The name identifies a device only without serial number and UDI: there may be two thermometers. */
function deviceNaturalKeys({ name, ...labels }: Values): string[] {
  const labelKeys = (['serial', 'udi'] as const).flatMap((field) => {
    const label = labels[field]
    return label === undefined ? [] : [`${field} ${normalizeText(String(label))}`]
  })
  return labelKeys.length > 0 ? labelKeys : [`name ${normalizeText(String(name))}`]
}

export const Device = defineKind(forms, {
  words: { en: 'devices', nl: 'medische hulpmiddelen' },
  fhir: deviceMapping,
  naturalKey: { fields: ['name', 'serial', 'udi'], keysOf: deviceNaturalKeys },
  rules: {
    dependentFields: [],
    derivationVersion: 2,
    derived: (values) => ({ texts: searchTextsOf(['name', 'manufacturer', 'model', 'udi'], values) }),
    violations: (values) => ['name', 'serial', 'udi'].flatMap((field) => blankViolations(values, field)),
  },
  lists: { ofEhr: { requiredFields: ['ehrId'], sort: 'createdAt', order: 'desc' } },
})
