import type { ComponentType } from 'react'
import { type Me, mayAct, type Role } from '../model/me.ts'
import type { PageProps } from '../model/page-props.ts'
import type { TextId } from '../texts/translate.ts'
import { type LaterComponent, loadLater } from '../ui/later.tsx'

/** A page of somebody who is logged in. */
export interface PageEntry {
  path: string
  page: LaterComponent<PageProps>
  /** Its name in the menu; pages without one are reached by links. */
  menu?: TextId
  /** For whom it is; default: everybody. */
  isFor?: (me: Me) => boolean
}

type PageModule = { default: ComponentType<PageProps> }

const entry = (
  path: string,
  load: () => Promise<PageModule>,
  more: Pick<PageEntry, 'menu' | 'isFor'> = {},
): PageEntry => ({ path, page: loadLater(load), ...more })

const recording = { isFor: (me: Me) => mayAct(me, 'RECORD') }
const planning = { isFor: (me: Me) => mayAct(me, 'PLAN') }
const messaging = { isFor: (me: Me) => mayAct(me, 'MESSAGES') }
/** Pages that helpers do not see. */
const personal = { isFor: ({ acts }: Me) => !acts }

/** A page for those who take part in the care of others. */
const nurseEntry = (path: string, load: () => Promise<PageModule>, menu?: TextId): PageEntry =>
  entry(path, load, { ...(menu && { menu }), isFor: ({ hasPatients }) => hasPatients })

/** Pages for a role of the whole service. */
const roleEntry =
  (role: Role) =>
  (path: string, load: () => Promise<PageModule>, menu?: TextId): PageEntry =>
    entry(path, load, { ...(menu && { menu }), isFor: ({ roles }) => roles.includes(role) })

const adminEntry = roleEntry('admin')
const modellerEntry = roleEntry('modeller')

/** All pages in the order of the menu. The first one is the home page. */
export const pages: readonly PageEntry[] = [
  entry('/', () => import('../patient/home/home-page.tsx'), { menu: 'home.title' }),
  nurseEntry('/worklist', () => import('../nurse/worklist/worklist-page.tsx'), 'worklist.title'),
  nurseEntry('/patients/:ehrId', () => import('../nurse/patient/patient-page.tsx')),
  nurseEntry(
    '/patients/:ehrId/plan/:planId/template',
    () => import('../patient/plan/creation/template-goals-page.tsx'),
  ),
  nurseEntry(
    '/patients/:ehrId/plan/:planId/goal/new',
    () => import('../patient/plan/creation/new-goal-page.tsx'),
  ),
  nurseEntry(
    '/patients/:ehrId/plan/:planId/goal/:goalId/task/new',
    () => import('../patient/plan/creation/new-task-page.tsx'),
  ),
  nurseEntry('/patients/:ehrId/plan/:planId/goal/:goalId', () => import('../patient/plan/goal-page.tsx')),
  nurseEntry(
    '/patients/:ehrId/plan/:planId/alerts',
    () => import('../nurse/alert-rules/alert-rules-page.tsx'),
  ),
  nurseEntry(
    '/patients/:ehrId/plan/:planId/thresholds',
    () => import('../nurse/thresholds/thresholds-page.tsx'),
  ),
  nurseEntry('/patients/:ehrId/messages', () => import('../patient/messages/messages-page.tsx')),
  nurseEntry('/patients/:ehrId/messages/new', () => import('../patient/messages/new-topic-page.tsx')),
  nurseEntry('/patients/:ehrId/messages/:topicId', () => import('../patient/messages/topic-page.tsx')),
  nurseEntry(
    '/patients/:ehrId/messages/:planId/:topicId',
    () => import('../patient/messages/topic-page.tsx'),
  ),
  nurseEntry('/patients/:ehrId/record', () => import('../patient/record/record-page.tsx')),
  nurseEntry('/patients/:ehrId/record/timeline', () => import('../patient/timeline/timeline-page.tsx')),
  nurseEntry('/patients/:ehrId/record/deleted', () => import('../patient/record/deleted-records-page.tsx')),
  nurseEntry('/patients/:ehrId/history/:record*', () => import('../patient/history/history-page.tsx')),
  entry('/measure', () => import('../patient/measure/measure-page.tsx'), {
    menu: 'measure.title',
    ...recording,
  }),
  entry(
    '/measure/questionnaire/:questionnaire',
    () => import('../patient/questionnaire/questionnaire-page.tsx'),
    recording,
  ),
  entry('/overview', () => import('../patient/overview/overview-page.tsx'), { menu: 'overview.title' }),
  entry('/plan', () => import('../patient/plan/plan-page.tsx'), { menu: 'plan.title' }),
  entry('/plan/new', () => import('../patient/plan/creation/new-plan-page.tsx'), planning),
  entry('/plan/:planId/template', () => import('../patient/plan/creation/template-goals-page.tsx'), planning),
  entry('/plan/:planId/goal/new', () => import('../patient/plan/creation/new-goal-page.tsx'), planning),
  entry(
    '/plan/:planId/goal/:goalId/task/new',
    () => import('../patient/plan/creation/new-task-page.tsx'),
    planning,
  ),
  entry('/plan/:planId/goal/:goalId', () => import('../patient/plan/goal-page.tsx'), planning),
  entry('/messages', () => import('../patient/messages/messages-page.tsx'), {
    menu: 'messages.title',
    ...messaging,
  }),
  entry('/messages/new', () => import('../patient/messages/new-topic-page.tsx'), messaging),
  entry('/messages/:topicId', () => import('../patient/messages/topic-page.tsx'), messaging),
  entry('/messages/:planId/:topicId', () => import('../patient/messages/topic-page.tsx'), messaging),
  entry('/record', () => import('../patient/record/record-page.tsx'), { menu: 'record.title' }),
  entry('/record/timeline', () => import('../patient/timeline/timeline-page.tsx')),
  entry('/record/deleted', () => import('../patient/record/deleted-records-page.tsx')),
  entry('/history/:record*', () => import('../patient/history/history-page.tsx')),
  entry('/access', () => import('../patient/access/access-page.tsx'), { menu: 'access.title', ...personal }),
  entry('/account', () => import('../patient/account/account-page.tsx'), {
    menu: 'account.title',
    ...personal,
  }),
  entry('/query', () => import('../analyst/query/query-page.tsx'), {
    menu: 'query.title',
    isFor: ({ roles }) => roles.includes('analyst') || roles.includes('modeller'),
  }),
  modellerEntry('/types', () => import('../modeller/types/types-page.tsx'), 'types.title'),
  modellerEntry('/types/new/:family', () => import('../modeller/types/type-page.tsx')),
  modellerEntry('/types/:family/:type', () => import('../modeller/types/type-page.tsx')),
  modellerEntry('/templates', () => import('../modeller/templates/templates-page.tsx'), 'templates.title'),
  modellerEntry('/templates/:concept', () => import('../modeller/templates/template-page.tsx')),
  adminEntry('/admin/accounts', () => import('../admin/accounts/accounts-page.tsx'), 'accounts.title'),
  adminEntry('/admin/accounts/:mvUid', () => import('../admin/accounts/account-details-page.tsx')),
  adminEntry('/admin/apps', () => import('../admin/apps/apps-page.tsx'), 'apps.title'),
  adminEntry('/admin/systems', () => import('../admin/systems/systems-page.tsx'), 'systems.title'),
  adminEntry('/admin/deleted', () => import('../admin/deleted/deleted-page.tsx'), 'deleted.title'),
  adminEntry('/admin/service', () => import('../admin/service/service-page.tsx'), 'service.title'),
]
