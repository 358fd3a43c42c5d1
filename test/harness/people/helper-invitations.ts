import type { HelperAct } from '../../../schemas/enums.ts'
import { DAY_MS } from '../../../schemas/time/durations.ts'
import { callFunction } from '../clients/class-client.ts'
import { assertStatus, call } from '../clients/path-client.ts'
import { apiKeys } from '../service/service.ts'
import type { Person } from './people.ts'

/** A time some days from now. */
export const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString()

export const termsOf = (acts: readonly HelperAct[], more: object = {}) => ({
  relation: 'PARENT',
  acts,
  until: inDays(30),
  ...more,
})

/** One person invites another as a helper. */
export async function inviteHelper(
  person: Person,
  helper: Person,
  acts: readonly HelperAct[],
  more: object = {},
): Promise<void> {
  const body = { mvUid: helper.mvUid, ...termsOf(acts, more) }
  assertStatus(await person.call('POST', `/profile/${person.mvUid}/helper`, body), 201)
}

/** A helper who has accepted, as themselves. */
export async function createHelper(
  person: Person,
  helper: Person,
  acts: readonly HelperAct[],
  more: object = {},
): Promise<void> {
  await inviteHelper(person, helper, acts, more)
  assertStatus(await helper.call('POST', `/profile/${helper.mvUid}/helping/${person.mvUid}/accept`))
}

/** The helper while they act for the person: with a token for each family. */
export async function actFor(person: Person, helper: Person): Promise<Person> {
  const path = `/profile/${helper.mvUid}/helping/${person.mvUid}/act`
  const { authToken } = assertStatus(await helper.call('POST', path))
  const { body } = await callFunction(helper, 'actForPerson', { mvUid: person.mvUid }).expect(200)
  const { sessionToken } = body.result
  return {
    ...helper,
    authToken,
    sessionToken,
    headers: { ...apiKeys(), 'X-Parse-Session-Token': sessionToken },
    call: (method, path, body, headers) =>
      call(method, path, body, { authorization: `Bearer ${authToken}`, ...headers }),
  }
}
