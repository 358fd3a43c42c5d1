import { ownId } from '../../records/profiles/owner/owner.ts'
import { Address, AddressCreate, AddressUpdate, addressFields } from '../../schemas/address.ts'
import { answer } from '../answer/answer.ts'
import { fieldsOf } from '../answer/representation.ts'
import { list, pageAs } from '../operation/list.ts'
import { type Operation, operation } from '../operation/operation.ts'
import { requireSameId } from '../operation/parameters.ts'
import { type Mount, mounts, ownerOf, pathOf } from './belongings.ts'
import { mounted } from './mounts.ts'

const about = {
  source: 'Endpoints, Profile (persons); Resources and their fields, Address of a person',
  access: 'person',
} as const

type Stored = Omit<Address, 'addressId'> & { id: string }

const addressOf = (stored: Stored): Address => ({
  addressId: ownId(stored.id),
  ...fieldsOf(addressFields, stored),
})

const operations: ((mount: Mount) => Operation)[] = [
  ({ path, of, whose }) =>
    list({
      ...about,
      id: `list${of}Addresses`,
      path: `${path}/address`,
      summary: `List the addresses ${whose}`,
      item: Address,
      handle: async ({ params, page }, { caller, profiles }) =>
        pageAs(await profiles.addresses.list(caller, ownerOf(params), page), addressOf),
    }),
  ({ path, of, whose }) =>
    operation({
      ...about,
      id: `add${of}Address`,
      method: 'post',
      path: `${path}/address`,
      summary: `Add an address ${whose}`,
      body: AddressCreate,
      reply: [201, Address, 'versioned'],
      errors: ['RuleViolated'],
      handle: async ({ params, body }, { caller, profiles, newId }) => {
        const added = await profiles.addresses.create(caller, ownerOf(params), body, newId())
        const address = addressOf(added)
        const location = `${pathOf(params)}/address/${address.addressId}`
        return answer(address, { version: added.version, location })
      },
    }),
  ({ path, of, whose }) =>
    operation({
      ...about,
      id: `get${of}Address`,
      method: 'get',
      path: `${path}/address/{addressId}`,
      summary: `Get an address ${whose}`,
      reply: [200, Address, 'versioned'],
      handle: async ({ params }, { caller, profiles }) => {
        const found = await profiles.addresses.get(caller, ownerOf(params), params.addressId)
        return answer(addressOf(found), { version: found.version })
      },
    }),
  ({ path, of, whose }) =>
    operation({
      ...about,
      id: `update${of}Address`,
      method: 'put',
      path: `${path}/address/{addressId}`,
      summary: `Replace an address ${whose}`,
      body: AddressUpdate,
      reply: [200, Address, 'versioned'],
      errors: ['IdMismatch', 'RuleViolated'],
      handle: async ({ params, body: { addressId, ...body } }, { caller, profiles, expected }) => {
        requireSameId('addressId', addressId, params.addressId)
        const updated = await profiles.addresses.update(caller, ownerOf(params), addressId, body, expected)
        return answer(addressOf(updated), { version: updated.version })
      },
    }),
  ({ path, of, whose }) =>
    operation({
      ...about,
      id: `delete${of}Address`,
      method: 'delete',
      path: `${path}/address/{addressId}`,
      summary: `Delete an address ${whose}`,
      reply: [204],
      handle: ({ params }, { caller, profiles, expected }) =>
        profiles.addresses.remove(caller, ownerOf(params), params.addressId, expected),
    }),
]

export const addresses = mounted(mounts, ...operations)
