import type Parse from 'parse/node'
import type { Helpers } from '../../records/accounts/helpers/helpers.ts'
import { HelperInvitation, HelperListParams, OtherUserParams } from '../../schemas/accounts/helper.ts'
import { defineFunction } from './define-function.ts'

/** Registers the functions for agreements with helpers, which the path family has under the same names. */
export function registerHelperFunctions({ Cloud }: typeof Parse, helpers: Helpers): void {
  const lists = { listHelpers: 'person', listHelpedPersons: 'helper' } as const
  for (const [name, side] of Object.entries(lists))
    defineFunction(Cloud, name, {
      params: HelperListParams,
      async run({ limit = 100, cursor }, getCaller) {
        const agreements = await helpers.list(await getCaller(), side, { limit, cursor })
        return { items: agreements.items.map(({ helper }) => helper), next: agreements.next }
      },
    })
  const ends = { endHelper: 'person', endHelping: 'helper' } as const
  for (const [name, side] of Object.entries(ends))
    defineFunction(Cloud, name, {
      params: OtherUserParams,
      async run({ mvUid }, getCaller) {
        await helpers.end(await getCaller(), side, mvUid, undefined)
        return {}
      },
    })
  defineFunction(Cloud, 'inviteHelper', {
    params: HelperInvitation,
    run: async ({ mvUid, ...terms }, getCaller) =>
      (await helpers.invite(await getCaller(), mvUid, terms)).helper,
  })
  defineFunction(Cloud, 'acceptHelping', {
    params: OtherUserParams,
    run: async ({ mvUid }, getCaller) => (await helpers.accept(await getCaller(), mvUid)).helper,
  })
}
