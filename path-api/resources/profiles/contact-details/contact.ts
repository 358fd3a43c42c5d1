import { asConnection } from '../../../../records/profiles/profiles.ts'
import { publicIdOf } from '../../../../records/profiles/storage/owner.ts'
import { Contact, ContactCreate, ContactUpdate, contactFields } from '../../../../schemas/profiles/contact.ts'
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

const contactSource = 'Endpoints, Profile (persons); Resources and their fields, Contact information'
const contactDefaults = { source: contactSource, access: 'person' } as const
/** Connections may read the contacts of a person, but not those of a relation. */
const contactReadAccess = (of: ContactDetailsPrefix['of']) =>
  ({ source: contactSource, access: of === '' ? 'connection' : 'person' }) as const

type StoredContact = Omit<Contact, 'contactId'> & { id: string }

const toContact = (stored: StoredContact): Contact => ({
  contactId: publicIdOf(stored.id),
  ...pickClientFields(contactFields, stored),
})

const contactOperationFactories: ((mount: ContactDetailsPrefix) => Operation)[] = [
  ({ path, of, whose }) =>
    defineListOperation({
      ...contactReadAccess(of),
      id: `list${of}Contacts`,
      path: `${path}/contact`,
      summary: `List the contacts ${whose}`,
      item: Contact,
      handle: async ({ params, page }, { caller, profiles }) => {
        const reader = asConnection(caller, params.mvUid)
        return mapPage(await profiles.contacts.list(reader, ownerFromParams(params), page), toContact)
      },
    }),
  ({ path, of, whose }) =>
    defineOperation({
      ...contactDefaults,
      id: `add${of}Contact`,
      method: 'post',
      path: `${path}/contact`,
      summary: `Add a contact ${whose}`,
      body: ContactCreate,
      reply: [201, Contact, 'versioned'],
      errors: ['RuleViolated'],
      handle: async ({ params, body }, { caller, profiles, newId }) => {
        const added = await profiles.contacts.create(caller, ownerFromParams(params), body, newId())
        const contact = toContact(added)
        const location = `${ownerPath(params)}/contact/${contact.contactId}`
        return replyWith(contact, { version: added.version, location })
      },
    }),
  ({ path, of, whose }) =>
    defineOperation({
      ...contactReadAccess(of),
      id: `get${of}Contact`,
      method: 'get',
      path: `${path}/contact/{contactId}`,
      summary: `Get a contact ${whose}`,
      reply: [200, Contact, 'versioned'],
      handle: async ({ params }, { caller, profiles }) => {
        const reader = asConnection(caller, params.mvUid)
        const found = await profiles.contacts.get(reader, ownerFromParams(params), params.contactId)
        return replyWith(toContact(found), { version: found.version })
      },
    }),
  ({ path, of, whose }) =>
    defineOperation({
      ...contactDefaults,
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
        const updated = await profiles.contacts.update(
          caller,
          ownerFromParams(params),
          contactId,
          body,
          expected,
        )
        return replyWith(toContact(updated), { version: updated.version })
      },
    }),
  ({ path, of, whose }) =>
    defineOperation({
      ...contactDefaults,
      id: `delete${of}Contact`,
      method: 'delete',
      path: `${path}/contact/{contactId}`,
      summary: `Delete a contact ${whose}`,
      description: 'If it was the primary contact of its type, the oldest remaining one becomes primary.',
      reply: [204],
      handle: ({ params }, { caller, profiles, expected }) =>
        profiles.contacts.remove(caller, ownerFromParams(params), params.contactId, expected),
    }),
]

export const contactOperations = mountAtEach(CONTACT_DETAILS_PREFIXES, ...contactOperationFactories)
