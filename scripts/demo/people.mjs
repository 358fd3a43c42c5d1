import { createClient } from 'health-record-client'

export const PASSWORD = 'walk in the park 2026'
export const DAY_MS = 86_400_000

/** A day before (negative) or after today, as YYYY-MM-DD. */
export const dateIn = (days) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)

/** A person who has logged in, with their own EHR. */
async function logIn(url, { email, name, birthDate }) {
  const client = createClient({ url })
  const { mvUid } = await client.logIn({ email, password: PASSWORD })
  const { items } = (await client.GET('/ehr')).data
  const body = { name: { displayName: name }, ...(birthDate && { birthDate }) }
  await client.PUT('/profile/{mvUid}', { params: { path: { mvUid } }, body })
  return { client, mvUid, email, name, ehrId: items[0]?.id }
}

/** Signs people up all at once, follows the links in their mails, and logs them in. */
export async function createPeople({ url, nextToken }, profiles) {
  const guest = createClient({ url })
  await Promise.all(
    profiles.map(async ({ email, name }) => {
      const body = { email, password: PASSWORD, name }
      await guest.POST('/auth/account/register/password', { body })
      // Any of the mails: a link tells whose it is.
      await guest.POST('/auth/account/register/activate', { body: { token: await nextToken() } })
    }),
  )
  return Promise.all(profiles.map((profile) => logIn(url, profile)))
}

export async function createAdministrator({ url, nextToken }, profile) {
  const body = { token: await nextToken(), newPassword: PASSWORD }
  await createClient({ url }).POST('/auth/account/password/update', { body })
  return logIn(url, profile)
}

/** Lets a user act for a person from now on. @returns the helper, with a client that acts for the person */
export async function createHelper({ url }, person, helper, terms) {
  await person.client.POST('/profile/{mvUid}/helper', {
    params: { path: { mvUid: person.mvUid } },
    body: { ...terms, mvUid: helper.mvUid },
  })
  const params = { path: { mvUid: helper.mvUid, personId: person.mvUid } }
  await helper.client.POST('/profile/{mvUid}/helping/{personId}/accept', { params })
  const { authToken } = (await helper.client.POST('/profile/{mvUid}/helping/{personId}/act', { params })).data
  const client = createClient({ url, tokens: { load: () => ({ authToken }), save() {} } })
  return { ...helper, client, ehrId: person.ehrId }
}
