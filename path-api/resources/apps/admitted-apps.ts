import { AdmittedApp } from '../../../schemas/accounts/app.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { defineListOperation } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { createRecordIdSchema } from '../../operation/path-parameters.ts'

const common = {
  source: 'Operations of our own: apps of SMART App Launch',
  extra: true,
  access: 'account',
} as const

export const admittedAppOperations = [
  defineListOperation({
    ...common,
    id: 'listAdmittedApps',
    path: '/auth/admitted-app',
    summary: 'List the apps that you have admitted',
    description: 'A page can have fewer apps than asked for, since apps whose access has ended are left out.',
    item: AdmittedApp,
    handle: ({ page }, { appGrants, principal }) => appGrants.list(principal.mvUid, page),
  }),
  defineOperation({
    ...common,
    id: 'endAdmittedApp',
    method: 'delete',
    path: '/auth/admitted-app/{admissionId}',
    params: { admissionId: createRecordIdSchema('Id of the admission', 's8RtUv12Qx') },
    summary: 'End the access of an app',
    description: 'All its tokens stop working: at once on this instance, within five seconds on others.',
    reply: [204],
    handle: async ({ params: { admissionId } }, { appGrants, principal, ifMatch }) => {
      // Admissions have no versions, so a condition on one always fails.
      if (Array.isArray(ifMatch)) throw new ServiceError('PreconditionFailed')
      if (!(await appGrants.end(principal.mvUid, admissionId))) throw new ServiceError('NotFound')
    },
  }),
]
