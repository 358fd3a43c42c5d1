import { elementAt } from '../../fhir/element-paths.ts'
import { referenceElement, valueElement } from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'
import type { FhirMapping } from '../../fhir/mapping.ts'
import { alternativeToken, textToken } from '../../fhir/search/search-parameters.ts'
import { stringParameter } from '../search-filters.ts'

const nameElement: FhirElement = {
  paths: { name: 'deviceName[0].name' },
  show: ({ name }) => (name === undefined ? {} : { deviceName: [{ name, type: 'user-friendly-name' }] }),
  read: (resource) => ({ name: elementAt(resource, 'deviceName[0].name') }),
}

const today = (): string => new Date().toISOString().slice(0, 10)

/** A device must not be used from its expiry on. */
const statusElement: FhirElement = {
  paths: {},
  show: ({ expiry }) => ({
    status: typeof expiry === 'string' && expiry <= today() ? 'inactive' : 'active',
  }),
  read: () => ({}),
  derived: ['status'],
}

const statusParameter = alternativeToken('Status: active, or inactive from the expiry on', () => [
  ['active', { allOf: [[{ expiry: { exists: false } }, { expiry: { after: today() } }]] }],
  ['inactive', { expiry: { upTo: today() } }],
])

/** A device of a person as a Device. */
export const deviceMapping: FhirMapping = {
  type: 'Device',
  elements: [
    statusElement,
    nameElement,
    valueElement('type', 'type.text'),
    valueElement('manufacturer', 'manufacturer'),
    valueElement('model', 'modelNumber'),
    valueElement('serial', 'serialNumber'),
    valueElement('udi', 'udiCarrier[0].carrierHRF'),
    valueElement('softwareVersion', 'version[0].value'),
    valueElement('expiry', 'expirationDate'),
    referenceElement('ehrId', 'patient', 'Patient'),
    valueElement('comment', 'note[0].text'),
  ],
  required: ['patient', 'deviceName'],
  search: {
    status: statusParameter,
    'device-name': stringParameter('Name of the device', 'name'),
    type: textToken('Type of the device', 'type'),
    manufacturer: stringParameter('Manufacturer', 'manufacturer'),
    model: stringParameter('Model', 'model'),
    'udi-carrier': stringParameter('Unique device identifier', 'udi'),
  },
}
