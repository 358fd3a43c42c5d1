import { Type } from '@sinclair/typebox'
import { knownBy } from './coding.ts'
import { line, text } from './common.ts'
import { date } from './forms/fields.ts'
import { forms } from './forms/forms.ts'
import { lastUpdated } from './last-updated.ts'

const made = forms({
  name: 'Device',
  noun: 'device',
  description:
    'A device that the person uses, wears or has implanted. It is identified by its serial number or UDI, without either by its name; it is registered in the EHR, not in a care plan',
  registeredIn: 'EHR',
  example: 'q8WeRt12Yu',
  fields: {
    name: line('What it is called', 'Blood pressure monitor'),
    type: Type.Optional(line('What kind of device it is', 'Sphygmomanometer')),
    manufacturer: Type.Optional(line('Who made it', 'Example Instruments')),
    model: Type.Optional(line('Which model it is', 'BP-7')),
    serial: Type.Optional(line('Serial number', 'SN-20481')),
    udi: Type.Optional(line('Unique device identifier, as on the label', '(01)09506000134352')),
    softwareVersion: Type.Optional(line('Version of its software', '2.4.1')),
    expiry: Type.Optional(date('The day from which it may no longer be used', '2031-01-01')),
    comment: Type.Optional(text('A remark on it', 'Lent by the practice')),
    knownBy,
  },
})

export const Device = { ...made, resource: lastUpdated(made.resource) }
