import type { VersionedApp } from '../../../records/accounts/apps/registered-apps.ts'
import { App, AppCreate, RegisteredApp } from '../../../schemas/accounts/app.ts'
import { defineListOperation } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { createRecordIdSchema } from '../../operation/path-parameters.ts'
import { replyWith } from '../../reply/reply.ts'

const common = {
  source: 'Operations of our own: apps of SMART App Launch',
  extra: true,
  access: 'admin',
} as const
const appPath = '/auth/app/{appId}'
const params = { appId: createRecordIdSchema('Id of the app', 'app-q3WrTy78Lp') }

const replyWithApp = ({ app, version }: VersionedApp, location?: string) =>
  replyWith(app, { version, ...(location !== undefined && { location }) })

export const registeredAppOperations = [
  defineListOperation({
    ...common,
    id: 'listApps',
    path: '/auth/app',
    summary: 'List the registered apps',
    item: App,
    handle: ({ page }, { apps }) => apps.list(page),
  }),
  defineOperation({
    ...common,
    id: 'registerApp',
    method: 'post',
    path: '/auth/app',
    summary: 'Register an app to which people may give access',
    description:
      'The response shows the secret of an app with the authentication `secret` once. An app can never get more than its scopes, nor more than the rights of the person who admits it.',
    body: AppCreate,
    reply: [201, RegisteredApp, 'versioned'],
    errors: ['Conflict', 'RuleViolated'],
    handle: async ({ body }, { apps, newId }) => {
      const registration = await apps.register(newId(), body)
      return replyWithApp(registration, `/auth/app/${registration.app.id}`)
    },
  }),
  defineOperation({
    ...common,
    id: 'getApp',
    method: 'get',
    path: appPath,
    params,
    summary: 'Get a registered app',
    reply: [200, RegisteredApp, 'versioned'],
    handle: async ({ params: { appId } }, { apps }) => replyWithApp(await apps.get(appId)),
  }),
  defineOperation({
    ...common,
    id: 'replaceApp',
    method: 'put',
    path: appPath,
    params,
    summary: 'Replace the registration of an app',
    description:
      'Keeps the secret. Fewer scopes take effect within five seconds, further ones when a person authorizes the app again.',
    body: AppCreate,
    reply: [200, RegisteredApp, 'versioned'],
    errors: ['Conflict', 'RuleViolated'],
    handle: async ({ params: { appId }, body }, { apps, ifMatch }) =>
      replyWithApp(await apps.replace(appId, body, ifMatch)),
  }),
  defineOperation({
    ...common,
    id: 'renewAppSecret',
    method: 'post',
    path: `${appPath}/secret`,
    params,
    summary: 'Replace the secret of an app',
    description: 'The former one stops working at once.',
    reply: [200, RegisteredApp],
    errors: ['Conflict', 'PreconditionFailed'],
    handle: async ({ params: { appId } }, { apps }) => (await apps.renewSecret(appId)).app,
  }),
  defineOperation({
    ...common,
    id: 'removeApp',
    method: 'delete',
    path: appPath,
    params,
    summary: 'Delete an app and end its access to all data',
    reply: [204],
    handle: async ({ params: { appId } }, { apps, appGrants, ifMatch }) => {
      await apps.remove(appId, ifMatch)
      await appGrants.endOfApp(appId)
    },
  }),
]
