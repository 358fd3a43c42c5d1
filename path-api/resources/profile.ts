import type { StoredPerson } from '../../records/profiles/person/persons.ts'
import { asConnection } from '../../records/profiles/profiles.ts'
import { isAdmin } from '../../records/store/documents/caller.ts'
import { Person, PersonUpdate, userFields } from '../../schemas/person.ts'
import { answer } from '../answer/answer.ts'
import { fieldsOf } from '../answer/representation.ts'
import { operation } from '../operation/operation.ts'
import { requireSameId } from '../operation/parameters.ts'

const path = '/profile/{mvUid}'
const source = 'Endpoints, Profile (persons); Resources and their fields, Relation'

const cardOf = ({ id, name, picture }: StoredPerson): Person => ({
  id,
  name,
  picture: picture ? `/profile/${id}/picture` : null,
})

const personOf = (stored: StoredPerson): Person => ({ ...fieldsOf(userFields, stored), ...cardOf(stored) })

export const profile = [
  operation({
    id: 'getPerson',
    method: 'get',
    path,
    summary: 'Get a person',
    description: 'Connections see the name and the picture only.',
    source,
    access: 'connection',
    reply: [200, Person, 'versioned'],
    handle: async ({ params: { mvUid } }, { caller, profiles }) => {
      const person = await profiles.persons.get(asConnection(caller, mvUid), mvUid)
      const represent = caller.userId === mvUid || isAdmin(caller) ? personOf : cardOf
      return answer(represent(person), { version: person.version })
    },
  }),
  operation({
    id: 'updatePerson',
    method: 'put',
    path,
    summary: 'Save a person',
    source,
    access: 'person',
    body: PersonUpdate,
    reply: [200, Person, 'versioned'],
    errors: ['IdMismatch', 'RuleViolated'],
    handle: async ({ params: { mvUid }, body }, { caller, profiles, expected }) => {
      const { id, picture: _, ...input } = body
      if (id !== undefined) requireSameId('id', id, mvUid)
      const person = await profiles.persons.save(caller, mvUid, input, expected)
      return answer(personOf(person), { version: person.version })
    },
  }),
  operation({
    id: 'deletePerson',
    method: 'delete',
    path,
    summary: 'Remove a person',
    description:
      'Removes everything: picture, addresses, contacts, relations, connections, and their history. The account stays.',
    source,
    access: 'person',
    reply: [204],
    handle: ({ params: { mvUid } }, { caller, profiles, expected }) =>
      profiles.remove(caller, mvUid, expected),
  }),
]
