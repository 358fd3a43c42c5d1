import { type Static, Type } from '@sinclair/typebox'
import { closedObject, idField, shortTextField } from '../common.ts'
import { AddressUsageEnum } from '../enums.ts'
import { htmlField, nullable, optionalFields } from '../forms/nullable.ts'
import { countryField } from './person.ts'

const nullableAddressFields = {
  country: nullable(countryField('Country, as ISO 3166-1 alpha-2 code')),
  label: nullable(shortTextField('Label of the address', 'Home')),
  lat: nullable(
    Type.Number({ minimum: -90, maximum: 90, description: 'Latitude, degrees', examples: [52.37] }),
  ),
  lng: nullable(
    Type.Number({ minimum: -180, maximum: 180, description: 'Longitude, degrees', examples: [4.89] }),
  ),
  locality: nullable(shortTextField('City or locality', 'Amsterdam')),
  note: nullable(htmlField('Note on the address')),
  postalCode: nullable(shortTextField('Postal code', '1012 JS')),
  region: nullable(shortTextField('Region or province', 'Noord-Holland')),
  streetAddress: nullable(shortTextField('Street and number', 'Dam 1')),
}
const addressIdField = { addressId: idField('the address') }

export const addressFields = { ...nullableAddressFields, usage: AddressUsageEnum }

/** @see Resources and their fields, Address of a person */
export const Address = closedObject('Address', 'An address of a person or of a relation', {
  ...addressIdField,
  ...addressFields,
})
export type Address = Static<typeof Address>

export const AddressCreate = closedObject('AddressCreate', 'An address; omitted fields become null', {
  ...optionalFields(nullableAddressFields),
  usage: AddressUsageEnum,
})
export type AddressCreate = Static<typeof AddressCreate>

export const AddressUpdate = closedObject('AddressUpdate', 'A complete address; omitted fields become null', {
  ...addressIdField,
  ...AddressCreate.properties,
})
