import type { Operation } from './operation/operation.ts'
import { accountPages } from './pages/account-pages.ts'
import { administratorPage } from './pages/administrator-page.ts'
import { auditPages } from './pages/audit-pages.ts'
import { startPage } from './pages/start-page.ts'
import { account } from './resources/accounts.ts'
import { addresses } from './resources/address.ts'
import { aql } from './resources/aql.ts'
import { audit } from './resources/audit.ts'
import { carePlans } from './resources/care-plan.ts'
import { carePlanHistory } from './resources/care-plan-history.ts'
import { carePlanSettings } from './resources/care-plan-settings.ts'
import { carePlanTemplates } from './resources/care-plan-template.ts'
import { carePlanThresholds } from './resources/care-plan-thresholds.ts'
import { chat } from './resources/chat.ts'
import { compositions } from './resources/composition.ts'
import { conditions } from './resources/conditions.ts'
import { contacts } from './resources/contact.ts'
import { ehrs } from './resources/ehrs.ts'
import { events } from './resources/events.ts'
import { dataExport } from './resources/export.ts'
import { changes } from './resources/following.ts'
import { goals } from './resources/goal.ts'
import { health } from './resources/health.ts'
import { login } from './resources/logins.ts'
import { measurementBatch } from './resources/measurement-batch.ts'
import { measurements } from './resources/measurements.ts'
import { network } from './resources/network.ts'
import { participants } from './resources/participant.ts'
import { password } from './resources/password.ts'
import { picture } from './resources/picture.ts'
import { problems } from './resources/problems.ts'
import { profile } from './resources/profile.ts'
import { questionnaires } from './resources/questionnaires.ts'
import { registration } from './resources/registration.ts'
import { relations } from './resources/relation.ts'
import { session } from './resources/session.ts'
import { storedQueries } from './resources/stored-query.ts'
import { summaries } from './resources/summary.ts'
import { tasks } from './resources/task.ts'
import { archetypes, templates } from './resources/template.ts'
import { types } from './resources/types.ts'
import { userData } from './resources/user-data.ts'

/** Every operation of the path family: the router, the OpenAPI document and the contract tests are made from it. */
export const table: readonly Operation[] = [
  ...startPage,
  ...health,
  ...problems,
  ...registration,
  ...password,
  ...login,
  ...session,
  ...account,
  ...profile,
  ...picture,
  ...addresses,
  ...contacts,
  ...relations,
  ...network,
  ...dataExport,
  ...accountPages,
  ...administratorPage,
  ...ehrs,
  ...audit,
  ...auditPages,
  ...carePlans,
  ...goals,
  ...tasks,
  ...participants,
  ...carePlanSettings,
  ...carePlanThresholds,
  ...events,
  ...measurements,
  ...questionnaires,
  ...measurementBatch,
  ...conditions,
  ...summaries,
  ...carePlanHistory,
  ...carePlanTemplates,
  ...templates,
  ...archetypes,
  ...compositions,
  ...aql,
  ...storedQueries,
  ...types,
  ...userData,
  ...chat,
  ...changes,
]
