import { type Static, Type } from '@sinclair/typebox'
import { closed, id, line } from './common.ts'
import { AddressUsageEnum } from './enum.ts'
import { html, nullable, optional } from './nullable.ts'
import { country } from './person.ts'

const mayBeNull = {
  country: nullable(country('Country, as ISO 3166-1 alpha-2 code')),
  label: nullable(line('What the address is called', 'Home')),
  lat: nullable(
    Type.Number({ minimum: -90, maximum: 90, description: 'Latitude, degrees', examples: [52.37] }),
  ),
  lng: nullable(
    Type.Number({ minimum: -180, maximum: 180, description: 'Longitude, degrees', examples: [4.89] }),
  ),
  locality: nullable(line('City or locality', 'Amsterdam')),
  note: nullable(html('Note on the address')),
  postalCode: nullable(line('Postal code', '1012 JS')),
  region: nullable(line('Region or province', 'Noord-Holland')),
  streetAddress: nullable(line('Street and number', 'Dam 1')),
}
const addressId = { addressId: id('the address') }

export const addressFields = { ...mayBeNull, usage: AddressUsageEnum }

/** @see Resources and their fields, Address of a person */
export const Address = closed('Address', 'An address of a person or of a relation', {
  ...addressId,
  ...addressFields,
})
export type Address = Static<typeof Address>

export const AddressCreate = closed('AddressCreate', 'An address; what is left out becomes null', {
  ...optional(mayBeNull),
  usage: AddressUsageEnum,
})
export type AddressCreate = Static<typeof AddressCreate>

export const AddressUpdate = closed('AddressUpdate', 'A complete address; what is left out becomes null', {
  ...addressId,
  ...AddressCreate.properties,
})
