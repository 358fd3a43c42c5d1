import { isDeepStrictEqual } from 'node:util'
import { Type } from '@sinclair/typebox'
import {
  Account,
  AccountCreate,
  AccountRemoval,
  AccountsQuery,
  AccountsResult,
  AccountUpdate,
  emailField,
  Invitation,
} from '../../../schemas/accounts/account.ts'
import { AccountStateEnum } from '../../../schemas/enums.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { defineListOperation } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { replyWith } from '../../reply/reply.ts'

const accountsSource = 'Endpoints, Accounts'

export const accountOperations = [
  defineListOperation({
    id: 'listAccounts',
    path: '/auth/account',
    summary: 'List accounts',
    description: 'Administrators see all accounts, other users only their own.',
    source: accountsSource,
    access: 'account',
    query: {
      email: Type.Optional(emailField('E-mail address of the account to list')),
      state: Type.Optional(AccountStateEnum),
    },
    item: Account,
    handle: ({ query, page }, { accounts, caller }) => accounts.list(caller, query, page),
  }),
  defineOperation({
    id: 'findAccounts',
    method: 'post',
    path: '/auth/account',
    summary: 'List the accounts with these ids or e-mail addresses that the caller may see',
    source: accountsSource,
    access: 'account',
    body: AccountsQuery,
    reply: [200, AccountsResult],
    handle: async ({ body: { mvUids = [], emails = [] } }, { accounts, caller }) => ({
      items: await accounts.findVisible(caller, mvUids, emails),
    }),
  }),
  defineOperation({
    id: 'getAccount',
    method: 'get',
    path: '/auth/account/{mvUid}',
    summary: 'Get an account',
    source: accountsSource,
    access: 'self',
    reply: [200, Account, 'versioned'],
    handle: async ({ params }, { accounts }) => {
      const { account, version } = await accounts.get(params.mvUid)
      return replyWith(account, { version })
    },
  }),
  defineOperation({
    id: 'updateAccount',
    method: 'put',
    path: '/auth/account/{mvUid}',
    summary: 'Update an account',
    description:
      'Omitted fields keep their values. A new address takes effect when the link mailed to it is opened; changing it requires the current password, or a login less than 10 minutes ago. Only administrators can set `roles` and `disabled`.',
    source: accountsSource,
    access: 'self',
    body: AccountUpdate,
    reply: [200, Account, 'versioned'],
    errors: ['RuleViolated', 'PasswordRequired', 'WrongPassword', 'AccountLocked', 'Conflict'],
    handle: async ({ params, body }, { accounts, passwords, caller, principal, ifMatch, current }) => {
      const { currentPassword, ...fields } = body
      const change = current ? withoutUnchanged(fields, current) : fields
      if (change.email !== undefined && caller.userId === params.mvUid)
        await passwords.requireProof(params.mvUid, principal.sessionId, currentPassword)
      const { account, version } = await accounts.update(caller, params.mvUid, change, ifMatch)
      return replyWith(account, { version })
    },
  }),
  defineOperation({
    id: 'deleteAccount',
    method: 'delete',
    path: '/auth/account/{mvUid}',
    summary: 'Delete an account with its profile, contacts, relations and network, but not its EHRs',
    description:
      'Deleting your own account requires `currentPassword`; administrators delete other accounts without one.',
    source: accountsSource,
    access: 'self',
    body: AccountRemoval,
    reply: [204],
    errors: ['WrongPassword', 'RuleViolated', 'AccountLocked'],
    guardedAccount: () => undefined,
    countedAs: 'updatePassword',
    handle: async ({ params, body }, { accountDeletion, passwords, caller, principal, ifMatch }) => {
      if (caller.userId === params.mvUid)
        await passwords.verifyPassword(
          params.mvUid,
          principal.sessionId,
          requireCurrentPassword(body.currentPassword),
        )
      await accountDeletion.remove(caller, params.mvUid, ifMatch)
    },
  }),
  defineOperation({
    id: 'inviteUser',
    method: 'post',
    path: '/auth/account/{mvUid}/invite',
    summary: 'Mail a link for choosing a password to the owner of an account that is not active yet',
    source: accountsSource,
    access: 'admin',
    body: Invitation,
    reply: [202],
    errors: ['Conflict'],
    guardedAccount: ({ params }) => params.mvUid,
    handle: ({ params, body }, { invitations }) => invitations.invite(params.mvUid, body.message),
  }),
  defineOperation({
    id: 'createAccount',
    method: 'post',
    path: '/auth/manage/account',
    summary: 'Create an account for someone, who then chooses the password',
    source: accountsSource,
    access: 'admin',
    body: AccountCreate,
    reply: [201, Account, 'versioned'],
    errors: ['Conflict'],
    handle: async ({ body }, { invitations }) => {
      const { account, version } = await invitations.create(body)
      return replyWith(account, { version, location: `/auth/account/${account.mvUid}` })
    },
  }),
]

/** A client that sends back what it has read changes only what differs. */
const withoutUnchanged = <T extends object>(
  fields: T,
  current: Readonly<Record<string, unknown>>,
): Partial<T> =>
  Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !isDeepStrictEqual(value, current[name])),
  ) as Partial<T>

/** @throws RuleViolated */
function requireCurrentPassword(currentPassword: string | undefined): string {
  if (currentPassword !== undefined) return currentPassword
  const violation = { path: 'currentPassword', code: 'required', message: 'is required for your own account' }
  throw new ServiceError('RuleViolated', { violations: [violation] })
}
