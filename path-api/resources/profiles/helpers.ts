import type { AgreementView } from '../../../records/accounts/helpers/helpers.ts'
import { Helper, HelperGrant, HelperInvitation } from '../../../schemas/accounts/helper.ts'
import { defineListOperation, mapPage } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { createRecordIdSchema } from '../../operation/path-parameters.ts'
import { replyWith } from '../../reply/reply.ts'

const helperDefaults = {
  source: 'Operations of our own: helpers act for a person under their own name',
  extra: true,
  access: 'own',
} as const

const helpersPath = '/profile/{mvUid}/helper'
const helperPath = `${helpersPath}/{helperId}` as const
const helperParams = { helperId: createRecordIdSchema('User id of the helper', 'bW81kPzQ7e') }

const helpedPath = '/profile/{mvUid}/helping'
const helpedPersonPath = `${helpedPath}/{personId}` as const
const personParams = { personId: createRecordIdSchema('User id of the person', 'bW81kPzQ7e') }

const showAgreement = ({ helper, version }: AgreementView) => replyWith(helper, { version })

export const helperOperations = [
  defineListOperation({
    ...helperDefaults,
    id: 'listHelpers',
    path: helpersPath,
    summary: 'List the helpers of a person',
    description: 'Oldest first, with invited and former ones.',
    item: Helper,
    handle: async ({ page }, { caller, helpers }) =>
      mapPage(await helpers.list(caller, 'person', page), ({ helper }) => helper),
  }),
  defineOperation({
    ...helperDefaults,
    id: 'inviteHelper',
    method: 'post',
    path: helpersPath,
    summary: 'Invite a user to act for a person, or change the permissions of this helper',
    description:
      'Helpers may act once they have accepted, from `from` until `until`, with a login of their own. Repeat the request to change an agreement; the change counts at once.',
    body: HelperInvitation,
    reply: [201, Helper, 'versioned'],
    errors: ['RuleViolated'],
    handle: async ({ params: { mvUid }, body: { mvUid: helperId, ...terms } }, { caller, helpers }) => {
      const { helper, version } = await helpers.invite(caller, helperId, terms)
      return replyWith(helper, { version, location: `/profile/${mvUid}/helper/${helperId}` })
    },
  }),
  defineOperation({
    ...helperDefaults,
    id: 'getHelper',
    method: 'get',
    path: helperPath,
    params: helperParams,
    summary: 'Get a helper of a person',
    reply: [200, Helper, 'versioned'],
    handle: async ({ params: { helperId } }, { caller, helpers }) =>
      showAgreement(await helpers.get(caller, 'person', helperId)),
  }),
  defineOperation({
    ...helperDefaults,
    id: 'endHelper',
    method: 'delete',
    path: helperPath,
    params: helperParams,
    summary: 'End the help of a user, or the invitation',
    description: 'The tokens with which they act end at once. The agreement stays in the list.',
    reply: [204],
    handle: ({ params: { helperId } }, { caller, helpers, ifMatch }) =>
      helpers.end(caller, 'person', helperId, ifMatch),
  }),
  defineListOperation({
    ...helperDefaults,
    id: 'listHelpedPersons',
    path: helpedPath,
    summary: 'List the persons whom a user helps',
    description: 'Oldest first, with invitations and former ones.',
    item: Helper,
    handle: async ({ page }, { caller, helpers }) =>
      mapPage(await helpers.list(caller, 'helper', page), ({ helper }) => helper),
  }),
  defineOperation({
    ...helperDefaults,
    id: 'getHelpedPerson',
    method: 'get',
    path: helpedPersonPath,
    params: personParams,
    summary: 'Get a person whom a user helps',
    reply: [200, Helper, 'versioned'],
    handle: async ({ params: { personId } }, { caller, helpers }) =>
      showAgreement(await helpers.get(caller, 'helper', personId)),
  }),
  defineOperation({
    ...helperDefaults,
    id: 'acceptHelping',
    method: 'post',
    path: `${helpedPersonPath}/accept`,
    params: personParams,
    summary: 'Accept the invitation to help a person',
    reply: [200, Helper, 'versioned'],
    errors: ['Conflict'],
    handle: async ({ params: { personId } }, { caller, helpers }) =>
      showAgreement(await helpers.accept(caller, personId)),
  }),
  defineOperation({
    ...helperDefaults,
    id: 'endHelping',
    method: 'delete',
    path: helpedPersonPath,
    params: personParams,
    summary: 'Stop helping a person, or decline the invitation',
    reply: [204],
    handle: ({ params: { personId } }, { caller, helpers, ifMatch }) =>
      helpers.end(caller, 'helper', personId, ifMatch),
  }),
  defineOperation({
    ...helperDefaults,
    id: 'actForPerson',
    method: 'post',
    path: `${helpedPersonPath}/act`,
    params: personParams,
    summary: 'Get a token with which a helper acts for a person',
    description:
      'Requests with this token have those rights of the person that the agreement names. History, audit and events name the helper as the user, and the person as `onBehalfOf`. The token ends with the session of this request, and with the agreement. There is no refresh token: ask again before it expires.',
    reply: [200, HelperGrant],
    handle: async ({ params: { personId } }, { caller, principal, helpers, logins }) => {
      const agreement = await helpers.requireInForce(caller, personId)
      const { sessionToken: _, ...grant } = await logins.actFor(principal.sessionId, agreement)
      return { ...grant, tokenType: 'Bearer' as const, until: agreement.until }
    },
  }),
]
