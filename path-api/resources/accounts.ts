import { Type } from '@sinclair/typebox'
import {
  Account,
  AccountCreate,
  AccountRemoval,
  AccountsFound,
  AccountsWanted,
  AccountUpdate,
  emailAddress,
  Invitation,
} from '../../schemas/account.ts'
import { AccountStateEnum } from '../../schemas/enum.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { answer } from '../answer/answer.ts'
import { list } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'

const source = 'Endpoints, Accounts'

export const account = [
  list({
    id: 'listAccounts',
    path: '/auth/account',
    summary: 'List accounts',
    description: 'Administrators see all, anyone else their own.',
    source,
    access: 'user',
    query: {
      email: Type.Optional(emailAddress('Only the account with this address')),
      state: Type.Optional(AccountStateEnum),
    },
    item: Account,
    handle: ({ query, page }, { accounts, caller }) => accounts.list(caller, query, page),
  }),
  operation({
    id: 'loadAccounts',
    method: 'post',
    path: '/auth/account',
    summary: 'Load the accounts with these ids or addresses that the caller may see',
    source,
    access: 'user',
    body: AccountsWanted,
    reply: [200, AccountsFound],
    handle: async ({ body: { mvUids = [], emails = [] } }, { accounts, caller }) => ({
      items: await accounts.load(caller, mvUids, emails),
    }),
  }),
  operation({
    id: 'getAccount',
    method: 'get',
    path: '/auth/account/{mvUid}',
    summary: 'Fetch an account',
    source,
    access: 'self',
    reply: [200, Account, 'versioned'],
    handle: async ({ params }, { accounts }) => {
      const { account, version } = await accounts.get(params.mvUid)
      return answer(account, { version })
    },
  }),
  operation({
    id: 'updateAccount',
    method: 'put',
    path: '/auth/account/{mvUid}',
    summary: 'Update an account',
    description:
      'What is left out stays as it is. A new address takes effect once the link mailed to it is followed; requesting it needs the current password, or a login less than 10 minutes ago. Only administrators set `roles` and `disabled`.',
    source,
    access: 'self',
    body: AccountUpdate,
    reply: [200, Account, 'versioned'],
    errors: ['RuleViolated', 'PasswordRequired', 'WrongPassword', 'AccountLocked', 'Conflict'],
    handle: async ({ params, body }, { accounts, passwords, caller, principal, expected }) => {
      const { currentPassword, ...change } = body
      if (change.email !== undefined && caller.userId === params.mvUid)
        await passwords.requireProof(params.mvUid, principal.sessionId, currentPassword)
      const { account, version } = await accounts.update(caller, params.mvUid, change, expected)
      return answer(account, { version })
    },
  }),
  operation({
    id: 'deleteAccount',
    method: 'delete',
    path: '/auth/account/{mvUid}',
    summary: 'Delete an account with its profile, contacts, relations and network; EHRs stay',
    description: 'Deleting your own account needs your password; administrators delete others without one.',
    source,
    access: 'self',
    body: AccountRemoval,
    reply: [204],
    errors: ['WrongPassword', 'RuleViolated', 'AccountLocked'],
    guarded: () => undefined,
    handle: async ({ params, body }, { removals, passwords, caller, expected }) => {
      if (caller.userId === params.mvUid)
        await passwords.confirm(params.mvUid, requirePassword(body.password))
      await removals.remove(caller, params.mvUid, expected)
    },
  }),
  operation({
    id: 'inviteUser',
    method: 'post',
    path: '/auth/account/{mvUid}/invite',
    summary: 'Mail a link to choose a password to the owner of an account that is not active yet',
    source,
    access: 'admin',
    body: Invitation,
    reply: [202],
    errors: ['Conflict'],
    guarded: ({ params }) => params.mvUid,
    handle: ({ params, body }, { invitations }) => invitations.invite(params.mvUid, body.message),
  }),
  operation({
    id: 'createAccount',
    method: 'post',
    path: '/auth/manage/account',
    summary: 'Create an account for someone, who then chooses the password',
    source,
    access: 'admin',
    body: AccountCreate,
    reply: [201, Account, 'versioned'],
    errors: ['Conflict'],
    handle: async ({ body }, { invitations }) => {
      const { account, version } = await invitations.create(body)
      return answer(account, { version, location: `/auth/account/${account.mvUid}` })
    },
  }),
]

/** @throws RuleViolated */
function requirePassword(password: string | undefined): string {
  if (password !== undefined) return password
  const violation = { path: 'password', code: 'required', message: 'is required for your own account' }
  throw new ServiceError('RuleViolated', { violations: [violation] })
}
