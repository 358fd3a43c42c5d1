import type { StoredPerson } from '../../../records/profiles/person/persons.ts'
import { asConnection } from '../../../records/profiles/profiles.ts'
import { isAdmin } from '../../../records/store/documents/caller.ts'
import { Person, PersonUpdate, profileFields } from '../../../schemas/profiles/person.ts'
import { defineOperation } from '../../operation/operation.ts'
import { requireSameId } from '../../operation/path-parameters.ts'
import { pickClientFields } from '../../reply/client-fields.ts'
import { replyWith } from '../../reply/reply.ts'

const profilePath = '/profile/{mvUid}'
const profileSource = 'Endpoints, Profile (persons); Resources and their fields, Relation'

const toPersonCard = ({ id, name, picture }: StoredPerson): Person => ({
  id,
  name,
  picture: picture ? `/profile/${id}/picture` : null,
})

const toPerson = (person: StoredPerson): Person => ({
  ...pickClientFields(profileFields, person),
  ...toPersonCard(person),
})

export const profileOperations = [
  defineOperation({
    id: 'getPerson',
    method: 'get',
    path: profilePath,
    summary: 'Get a person',
    description: 'Connections see only the name and the picture.',
    source: profileSource,
    access: 'connection',
    reply: [200, Person, 'versioned'],
    handle: async ({ params: { mvUid } }, { caller, profiles }) => {
      const person = await profiles.persons.get(asConnection(caller, mvUid), mvUid)
      const represent = caller.userId === mvUid || isAdmin(caller) ? toPerson : toPersonCard
      return replyWith(represent(person), { version: person.version })
    },
  }),
  defineOperation({
    id: 'updatePerson',
    method: 'put',
    path: profilePath,
    summary: 'Replace the profile of a person',
    source: profileSource,
    access: 'person',
    body: PersonUpdate,
    reply: [200, Person, 'versioned'],
    errors: ['IdMismatch', 'RuleViolated'],
    handle: async ({ params: { mvUid }, body }, { caller, profiles, ifMatch }) => {
      const { id, ...input } = body
      requireSameId('id', id, mvUid)
      const person = await profiles.persons.save(caller, mvUid, input, ifMatch)
      return replyWith(toPerson(person), { version: person.version })
    },
  }),
  defineOperation({
    id: 'deletePerson',
    method: 'delete',
    path: profilePath,
    summary: 'Delete the profile of a person',
    description:
      'Removes the picture, addresses, contacts, relations, connections and agreements with helpers, with their history. The account stays, with handovers and views of the worklist, FHIR subscriptions, and messages: both sides see them again once they are connected again.',
    source: profileSource,
    access: 'person',
    reply: [204],
    handle: ({ params: { mvUid } }, { caller, profiles, ifMatch }) => profiles.remove(caller, mvUid, ifMatch),
  }),
]
