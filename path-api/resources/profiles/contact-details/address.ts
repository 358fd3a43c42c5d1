import { publicIdOf } from '../../../../records/profiles/storage/owner.ts'
import { Address, AddressCreate, AddressUpdate, addressFields } from '../../../../schemas/profiles/address.ts'
import { defineListOperation, mapPage } from '../../../operation/list-operation.ts'
import { defineOperation, type Operation } from '../../../operation/operation.ts'
import { requireSameId } from '../../../operation/path-parameters.ts'
import { replyWith } from '../../../reply/reply.ts'
import { pickClientFields } from '../../../reply/representation.ts'
import { mountAtEach } from '../../prefixes.ts'
import {
  CONTACT_DETAILS_PREFIXES,
  type ContactDetailsPrefix,
  ownerFromParams,
  ownerPath,
} from './contact-details.ts'

const addressDefaults = {
  source: 'Endpoints, Profile (persons); Resources and their fields, Address of a person',
  access: 'person',
} as const

type StoredAddress = Omit<Address, 'addressId'> & { id: string }

const toAddress = (stored: StoredAddress): Address => ({
  addressId: publicIdOf(stored.id),
  ...pickClientFields(addressFields, stored),
})

const addressOperationFactories: ((mount: ContactDetailsPrefix) => Operation)[] = [
  ({ path, of, whose }) =>
    defineListOperation({
      ...addressDefaults,
      id: `list${of}Addresses`,
      path: `${path}/address`,
      summary: `List the addresses ${whose}`,
      item: Address,
      handle: async ({ params, page }, { caller, profiles }) =>
        mapPage(await profiles.addresses.list(caller, ownerFromParams(params), page), toAddress),
    }),
  ({ path, of, whose }) =>
    defineOperation({
      ...addressDefaults,
      id: `add${of}Address`,
      method: 'post',
      path: `${path}/address`,
      summary: `Add an address ${whose}`,
      body: AddressCreate,
      reply: [201, Address, 'versioned'],
      errors: ['RuleViolated'],
      handle: async ({ params, body }, { caller, profiles, newId }) => {
        const added = await profiles.addresses.create(caller, ownerFromParams(params), body, newId())
        const address = toAddress(added)
        const location = `${ownerPath(params)}/address/${address.addressId}`
        return replyWith(address, { version: added.version, location })
      },
    }),
  ({ path, of, whose }) =>
    defineOperation({
      ...addressDefaults,
      id: `get${of}Address`,
      method: 'get',
      path: `${path}/address/{addressId}`,
      summary: `Get an address ${whose}`,
      reply: [200, Address, 'versioned'],
      handle: async ({ params }, { caller, profiles }) => {
        const found = await profiles.addresses.get(caller, ownerFromParams(params), params.addressId)
        return replyWith(toAddress(found), { version: found.version })
      },
    }),
  ({ path, of, whose }) =>
    defineOperation({
      ...addressDefaults,
      id: `update${of}Address`,
      method: 'put',
      path: `${path}/address/{addressId}`,
      summary: `Replace an address ${whose}`,
      body: AddressUpdate,
      reply: [200, Address, 'versioned'],
      errors: ['IdMismatch', 'RuleViolated'],
      handle: async ({ params, body: { addressId, ...body } }, { caller, profiles, expected }) => {
        requireSameId('addressId', addressId, params.addressId)
        const updated = await profiles.addresses.update(
          caller,
          ownerFromParams(params),
          addressId,
          body,
          expected,
        )
        return replyWith(toAddress(updated), { version: updated.version })
      },
    }),
  ({ path, of, whose }) =>
    defineOperation({
      ...addressDefaults,
      id: `delete${of}Address`,
      method: 'delete',
      path: `${path}/address/{addressId}`,
      summary: `Delete an address ${whose}`,
      reply: [204],
      handle: ({ params }, { caller, profiles, expected }) =>
        profiles.addresses.remove(caller, ownerFromParams(params), params.addressId, expected),
    }),
]

export const addressOperations = mountAtEach(CONTACT_DETAILS_PREFIXES, ...addressOperationFactories)
