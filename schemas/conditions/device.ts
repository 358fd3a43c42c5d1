import { Type } from '@sinclair/typebox'
import { naturalKeyField, searchTextsField } from '../coding.ts'
import { longTextField, shortTextField } from '../common.ts'
import { dateField } from '../forms/fields.ts'
import { defineForms } from '../forms/forms.ts'
import { withLastUpdated } from '../forms/last-updated.ts'

const plainForms = defineForms({
  name: 'Device',
  noun: 'device',
  description:
    'A device that the person uses, wears or carries as an implant. Its serial number or UDI identifies it, otherwise its name. It is registered in the EHR, outside of care plans',
  parentType: 'EHR',
  example: 'q8WeRt12Yu',
  fields: {
    name: shortTextField('Name of the device', 'Blood pressure monitor'),
    type: Type.Optional(shortTextField('Type of the device', 'Sphygmomanometer')),
    manufacturer: Type.Optional(shortTextField('Manufacturer', 'Example Instruments')),
    model: Type.Optional(shortTextField('Model', 'BP-7')),
    serial: Type.Optional(shortTextField('Serial number', 'SN-20481')),
    udi: Type.Optional(shortTextField('Unique device identifier, as on the label', '(01)09506000134352')),
    softwareVersion: Type.Optional(shortTextField('Version of the software', '2.4.1')),
    expiry: Type.Optional(dateField('First day on which the device must no longer be used', '2031-01-01')),
    comment: Type.Optional(longTextField('Comment', 'Lent by the practice')),
    knownBy: naturalKeyField,
    texts: searchTextsField,
  },
})

export const DeviceForms = { ...plainForms, resource: withLastUpdated(plainForms.resource) }
