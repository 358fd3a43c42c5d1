import { ownId } from '../../records/profiles/owner/owner.ts'
import { asConnection } from '../../records/profiles/profiles.ts'
import { Contact, ContactCreate, ContactUpdate, contactFields } from '../../schemas/contact.ts'
import { answer } from '../answer/answer.ts'
import { fieldsOf } from '../answer/representation.ts'
import { list, pageAs } from '../operation/list.ts'
import { type Operation, operation } from '../operation/operation.ts'
import { requireSameId } from '../operation/parameters.ts'
import { type Mount, mounts, ownerOf, pathOf } from './belongings.ts'
import { mounted } from './mounts.ts'

const source = 'Endpoints, Profile (persons); Resources and their fields, Contact information'
const about = { source, access: 'person' } as const
/** A person's contacts are read by connections too, a relation's are not. */
const readable = (of: Mount['of']) => ({ source, access: of === '' ? 'connection' : 'person' }) as const

type Stored = Omit<Contact, 'contactId'> & { id: string }

const contactOf = (stored: Stored): Contact => ({
  contactId: ownId(stored.id),
  ...fieldsOf(contactFields, stored),
})

const operations: ((mount: Mount) => Operation)[] = [
  ({ path, of, whose }) =>
    list({
      ...readable(of),
      id: `list${of}Contacts`,
      path: `${path}/contact`,
      summary: `List the contacts ${whose}`,
      item: Contact,
      handle: async ({ params, page }, { caller, profiles }) => {
        const reader = asConnection(caller, params.mvUid)
        return pageAs(await profiles.contacts.list(reader, ownerOf(params), page), contactOf)
      },
    }),
  ({ path, of, whose }) =>
    operation({
      ...about,
      id: `add${of}Contact`,
      method: 'post',
      path: `${path}/contact`,
      summary: `Add a contact ${whose}`,
      body: ContactCreate,
      reply: [201, Contact, 'versioned'],
      errors: ['RuleViolated'],
      handle: async ({ params, body }, { caller, profiles, newId }) => {
        const added = await profiles.contacts.create(caller, ownerOf(params), body, newId())
        const contact = contactOf(added)
        const location = `${pathOf(params)}/contact/${contact.contactId}`
        return answer(contact, { version: added.version, location })
      },
    }),
  ({ path, of, whose }) =>
    operation({
      ...readable(of),
      id: `get${of}Contact`,
      method: 'get',
      path: `${path}/contact/{contactId}`,
      summary: `Get a contact ${whose}`,
      reply: [200, Contact, 'versioned'],
      handle: async ({ params }, { caller, profiles }) => {
        const reader = asConnection(caller, params.mvUid)
        const found = await profiles.contacts.get(reader, ownerOf(params), params.contactId)
        return answer(contactOf(found), { version: found.version })
      },
    }),
  ({ path, of, whose }) =>
    operation({
      ...about,
      id: `update${of}Contact`,
      method: 'put',
      path: `${path}/contact/{contactId}`,
      summary: `Replace a contact ${whose}`,
      ifMatch: 'required',
      body: ContactUpdate,
      reply: [200, Contact, 'versioned'],
      errors: ['IdMismatch', 'RuleViolated'],
      handle: async ({ params, body: { contactId, ...body } }, { caller, profiles, expected }) => {
        requireSameId('contactId', contactId, params.contactId)
        const updated = await profiles.contacts.update(caller, ownerOf(params), contactId, body, expected)
        return answer(contactOf(updated), { version: updated.version })
      },
    }),
  ({ path, of, whose }) =>
    operation({
      ...about,
      id: `delete${of}Contact`,
      method: 'delete',
      path: `${path}/contact/{contactId}`,
      summary: `Delete a contact ${whose}`,
      description: 'If it was the primary contact of its type, the oldest remaining one takes its place.',
      reply: [204],
      handle: ({ params }, { caller, profiles, expected }) =>
        profiles.contacts.remove(caller, ownerOf(params), params.contactId, expected),
    }),
]

export const contacts = mounted(mounts, ...operations)
