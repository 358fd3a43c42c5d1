import type { TObject, TProperties } from '@sinclair/typebox'
import { asConnection, type Profiles } from '../../../records/profiles/profiles.ts'
import { relationNumberOf } from '../../../records/profiles/relations/relations.ts'
import { type Owner, publicIdOf } from '../../../records/profiles/storage/owner.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import type { Page, PageRequest } from '../../../records/store/reading/pages.ts'
import type { ExpectedVersions } from '../../../records/store/write-decider.ts'
import { withArticle } from '../../../schemas/common.ts'
import { Address, AddressCreate, AddressUpdate, addressFields } from '../../../schemas/profiles/address.ts'
import { Contact, ContactCreate, ContactUpdate, contactFields } from '../../../schemas/profiles/contact.ts'
import { defineListOperation, mapPage } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { requireSameId } from '../../operation/path-parameters.ts'
import { pickClientFields } from '../../reply/client-fields.ts'
import { replyWith } from '../../reply/reply.ts'

/** Prefix for addresses and contacts, which persons and relations share. */
interface ContactDetailsPrefix {
  path: '/profile/{mvUid}' | '/profile/{mvUid}/relation/{relationId}'
  /** Part of the operation ids: `addAddress`, `addRelationAddress`. */
  idInfix: '' | 'Relation'
  /** Part of the summaries. */
  whose: string
}

const CONTACT_DETAILS_PREFIXES: readonly ContactDetailsPrefix[] = [
  { path: '/profile/{mvUid}', idInfix: '', whose: 'of a person' },
  { path: '/profile/{mvUid}/relation/{relationId}', idInfix: 'Relation', whose: 'of a relation' },
]

interface SavedDetails {
  id: string
  version: number
}

/** Store of addresses or contacts, independent of their fields. */
interface ContactDetailsStore {
  list(caller: Caller, owner: Owner, page: PageRequest): Promise<Page<SavedDetails>>
  get(caller: Caller, owner: Owner, id: string): Promise<SavedDetails>
  create(caller: Caller, owner: Owner, input: object, newId: string): Promise<SavedDetails>
  update(
    caller: Caller,
    owner: Owner,
    id: string,
    input: object,
    expected: ExpectedVersions,
  ): Promise<SavedDetails>
  remove(caller: Caller, owner: Owner, id: string, expected: ExpectedVersions): Promise<void>
}

/** Addresses or contacts: what differs between them. */
interface ContactDetailsKind {
  /** Segment of the paths. */
  noun: 'address' | 'contact'
  /** Parts of the operation ids. */
  name: string
  plural: string
  idName: 'addressId' | 'contactId'
  source: string
  fields: TProperties
  resource: TObject
  create: TObject
  update: TObject
  storeOf(profiles: Profiles): ContactDetailsStore
  /** Connections may read those of a person, but not those of a relation. */
  isShared: boolean
  onUpdate?: { ifMatch: 'required' }
}

const ADDRESS: ContactDetailsKind = {
  noun: 'address',
  name: 'Address',
  plural: 'Addresses',
  idName: 'addressId',
  source: 'Endpoints, Profile (persons); Resources and their fields, Address of a person',
  fields: addressFields,
  resource: Address,
  create: AddressCreate,
  update: AddressUpdate,
  storeOf: ({ addresses }) => addresses,
  isShared: false,
}

const CONTACT: ContactDetailsKind = {
  noun: 'contact',
  name: 'Contact',
  plural: 'Contacts',
  idName: 'contactId',
  source: 'Endpoints, Profile (persons); Resources and their fields, Contact information',
  fields: contactFields,
  resource: Contact,
  create: ContactCreate,
  update: ContactUpdate,
  storeOf: ({ contacts }) => contacts,
  isShared: true,
  onUpdate: { ifMatch: 'required' },
}

interface OwnerParams {
  mvUid: string
  /** Only in paths of relations. */
  relationId?: string
}

/** Owner of the address or contact in the path. */
const ownerFromParams = ({ mvUid, relationId }: OwnerParams): Owner => ({
  mvUid,
  relationId: relationId === undefined ? null : relationNumberOf(relationId),
})

/** Path of the owner, for Location. */
const ownerPath = ({ mvUid, relationId }: OwnerParams): string =>
  relationId === undefined ? `/profile/${mvUid}` : `/profile/${mvUid}/relation/${relationId}`

/** Addresses or contacts below one prefix. */
type ContactDetailsContext = ContactDetailsKind & ContactDetailsPrefix

const writeDefaults = ({ source }: ContactDetailsContext) => ({ source, access: 'person' }) as const
const readDefaults = ({ source, isShared, idInfix }: ContactDetailsContext) =>
  ({ source, access: isShared && idInfix === '' ? 'connection' : 'person' }) as const
const readerOf = ({ isShared }: ContactDetailsKind, caller: Caller, mvUid: string): Caller =>
  isShared ? asConnection(caller, mvUid) : caller

const represent =
  ({ idName, fields }: ContactDetailsKind) =>
  ({ id, ...details }: SavedDetails) => ({ [idName]: publicIdOf(id), ...pickClientFields(fields, details) })

const listDetails = (context: ContactDetailsContext) =>
  defineListOperation({
    ...readDefaults(context),
    id: `list${context.idInfix}${context.plural}`,
    path: `${context.path}/${context.noun}`,
    summary: `List the ${context.plural.toLowerCase()} ${context.whose}`,
    item: context.resource,
    handle: async ({ params, page }, { caller, profiles }) => {
      const reader = readerOf(context, caller, params.mvUid)
      const list = await context.storeOf(profiles).list(reader, ownerFromParams(params), page)
      return mapPage(list, represent(context))
    },
  })

const addDetails = (context: ContactDetailsContext) =>
  defineOperation({
    ...writeDefaults(context),
    id: `add${context.idInfix}${context.name}`,
    method: 'post',
    path: `${context.path}/${context.noun}`,
    summary: `Create ${withArticle(context.noun)} ${context.whose}`,
    body: context.create,
    reply: [201, context.resource, 'versioned'],
    errors: ['RuleViolated'],
    handle: async ({ params, body }, { caller, profiles, newId }) => {
      const details = await context.storeOf(profiles).create(caller, ownerFromParams(params), body, newId())
      const location = `${ownerPath(params)}/${context.noun}/${publicIdOf(details.id)}`
      return replyWith(represent(context)(details), { version: details.version, location })
    },
  })

const getDetails = (context: ContactDetailsContext) =>
  defineOperation({
    ...readDefaults(context),
    id: `get${context.idInfix}${context.name}`,
    method: 'get',
    path: `${context.path}/${context.noun}/{${context.idName}}`,
    summary: `Get ${withArticle(context.noun)} ${context.whose}`,
    reply: [200, context.resource, 'versioned'],
    handle: async ({ params }, { caller, profiles }) => {
      const reader = readerOf(context, caller, params.mvUid)
      const details = await context
        .storeOf(profiles)
        .get(reader, ownerFromParams(params), params[context.idName])
      return replyWith(represent(context)(details), { version: details.version })
    },
  })

const updateDetails = (context: ContactDetailsContext) =>
  defineOperation({
    ...writeDefaults(context),
    ...context.onUpdate,
    id: `update${context.idInfix}${context.name}`,
    method: 'put',
    path: `${context.path}/${context.noun}/{${context.idName}}`,
    summary: `Replace ${withArticle(context.noun)} ${context.whose}`,
    body: context.update,
    reply: [200, context.resource, 'versioned'],
    errors: ['IdMismatch', 'RuleViolated'],
    handle: async ({ params, body }, { caller, profiles, ifMatch }) => {
      const { [context.idName]: id = '', ...input } = body as Record<string, string>
      requireSameId(context.idName, id, params[context.idName])
      const details = await context
        .storeOf(profiles)
        .update(caller, ownerFromParams(params), id, input, ifMatch)
      return replyWith(represent(context)(details), { version: details.version })
    },
  })

const deleteDetails = (context: ContactDetailsContext) =>
  defineOperation({
    ...writeDefaults(context),
    id: `delete${context.idInfix}${context.name}`,
    method: 'delete',
    path: `${context.path}/${context.noun}/{${context.idName}}`,
    summary: `Delete ${withArticle(context.noun)} ${context.whose}`,
    reply: [204],
    handle: ({ params }, { caller, profiles, ifMatch }) =>
      context.storeOf(profiles).remove(caller, ownerFromParams(params), params[context.idName], ifMatch),
  })

export const contactDetailsOperations = [ADDRESS, CONTACT].flatMap((kind) =>
  CONTACT_DETAILS_PREFIXES.flatMap((prefix) =>
    [listDetails, addDetails, getDetails, updateDetails, deleteDetails].map((define) =>
      define({ ...kind, ...prefix }),
    ),
  ),
)
