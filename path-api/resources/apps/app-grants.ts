import type { App } from '../../../schemas/accounts/app.ts'
import { AdmittedApp, AppLaunch, AppLaunchCreate } from '../../../schemas/accounts/app.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { defineListOperation } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { createRecordIdSchema } from '../../operation/path-parameters.ts'
import { fhirBaseOf } from '../smart-urls.ts'

const common = {
  source: 'Operations of our own: apps of SMART App Launch',
  extra: true,
  access: 'account',
} as const

/** @throws RuleViolated for an app without it */
function requireLaunchScope(app: App | undefined): App {
  if (app?.scopes.includes('launch')) return app
  throw new ServiceError('RuleViolated', {
    violations: [{ path: 'appId', code: 'unknown', message: 'must be an app with the scope launch' }],
  })
}

/** The URL of an app, with what it needs to know. */
function launchUrlOf({ launchUrl }: App, parameters: { iss: string; launch: string }): string | undefined {
  if (launchUrl === undefined) return undefined
  const url = new URL(launchUrl)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

export const appGrantOperations = [
  defineOperation({
    ...common,
    id: 'launchApp',
    method: 'post',
    path: '/auth/app-launch',
    summary: 'Launch an app for a patient whose EHR you may read',
    description:
      'Open launchUrl in a browser: the app sends you to the page on which you log in and decide. It gets access to this patient without a choice. A launch is for the user who asks for it.',
    body: AppLaunchCreate,
    reply: [200, AppLaunch],
    errors: ['NotFound', 'RuleViolated'],
    handle: async ({ body: { appId, ehrId } }, { appAuthorizations, apps, ehrs, caller, publicUrl }) => {
      await ehrs.get(caller, ehrId)
      const app = requireLaunchScope(await apps.find(appId))
      const launch = await appAuthorizations.launch({ mvUid: caller.userId, appId, patient: ehrId })
      const parameters = { iss: fhirBaseOf(publicUrl), launch: launch.secret }
      const launchUrl = launchUrlOf(app, parameters)
      return {
        ...parameters,
        expiresAt: launch.expiresAt.toISOString(),
        ...(launchUrl !== undefined && { launchUrl }),
      }
    },
  }),
  defineListOperation({
    ...common,
    id: 'listAdmittedApps',
    path: '/auth/admitted-app',
    summary: 'List the apps with access to your data',
    description: 'A page can have fewer apps than asked for, since apps whose access has ended are left out.',
    item: AdmittedApp,
    handle: ({ page }, { appGrants, principal }) => appGrants.list(principal.mvUid, page),
  }),
  defineOperation({
    ...common,
    id: 'endAdmittedApp',
    method: 'delete',
    path: '/auth/admitted-app/{admissionId}',
    params: { admissionId: createRecordIdSchema('Id of the grant', 's8RtUv12Qx') },
    summary: 'End the access of an app',
    description: 'All its tokens stop working: at once on this instance, within five seconds on others.',
    reply: [204],
    handle: async ({ params: { admissionId } }, { appGrants, principal, ifMatch }) => {
      // Grants have no versions, so a condition on one always fails.
      if (Array.isArray(ifMatch)) throw new ServiceError('PreconditionFailed')
      if (!(await appGrants.end(principal.mvUid, admissionId))) throw new ServiceError('NotFound')
    },
  }),
]
