import type { Operation } from './operation/operation.ts'
import { accountPages } from './pages/account-pages.ts'
import { administratorPage } from './pages/administrator-page.ts'
import { auditPages } from './pages/audit-pages.ts'
import { startPage } from './pages/start-page.ts'
import { accountOperations } from './resources/accounts/accounts.ts'
import { identityOperations } from './resources/accounts/identities.ts'
import { loginOperations } from './resources/accounts/logins.ts'
import { passwordOperations } from './resources/accounts/password.ts'
import { registrationOperations } from './resources/accounts/registration.ts'
import { sessionOperations } from './resources/accounts/session.ts'
import { systemOperations } from './resources/accounts/systems.ts'
import { administrationOperations } from './resources/administration/administration.ts'
import { appGrantOperations } from './resources/apps/app-grants.ts'
import { authorizationPages } from './resources/apps/authorization/authorization-page.ts'
import { registeredAppOperations } from './resources/apps/registered-apps.ts'
import { smartMetadataOperations } from './resources/apps/smart-metadata.ts'
import { smartTokenOperations } from './resources/apps/smart-token.ts'
import { carePlanOperations } from './resources/care-plans/care-plan.ts'
import { carePlanHistoryOperations } from './resources/care-plans/care-plan-history.ts'
import { carePlanTemplateOperations } from './resources/care-plans/care-plan-template.ts'
import { carePlanAlertRulesOperations } from './resources/care-plans/documents/care-plan-alert-rules.ts'
import { carePlanSettingsOperations } from './resources/care-plans/documents/care-plan-settings.ts'
import { carePlanThresholdsOperations } from './resources/care-plans/documents/care-plan-thresholds.ts'
import { goalOperations } from './resources/care-plans/goal.ts'
import { participantOperations } from './resources/care-plans/participants.ts'
import { taskOperations } from './resources/care-plans/task.ts'
import { summaryOperations } from './resources/charts/summary.ts'
import { chatOperations } from './resources/chat/chat.ts'
import { conditionOperations } from './resources/conditions/conditions.ts'
import { deletedRecordOperations } from './resources/ehrs/deleted-records.ts'
import { ehrAccessOperations } from './resources/ehrs/ehr-accesses.ts'
import { ehrOperations } from './resources/ehrs/ehrs.ts'
import { alertOperations } from './resources/events/alerts.ts'
import { eventOperations } from './resources/events/events.ts'
import { fhirBundleOperations } from './resources/fhir/bundle-operations.ts'
import { fhirMetadataOperations } from './resources/fhir/fhir-metadata.ts'
import { withGeneralParameters } from './resources/fhir/fhir-operation.ts'
import { fhirExportOperations } from './resources/fhir/operations/export-operations.ts'
import { fhirPatientOperations } from './resources/fhir/operations/patient-operations.ts'
import { fhirSubscriptionOperations } from './resources/fhir/operations/subscription-operations.ts'
import { fhirTypeOperations } from './resources/fhir/operations/type-operations.ts'
import { fhirResourceOperations } from './resources/fhir/resource-operations.ts'
import { healthOperations } from './resources/health.ts'
import { accountChangeOperations } from './resources/live/account-changes.ts'
import { changeStreamOperations } from './resources/live/change-streams.ts'
import { measurementBatchOperations } from './resources/measurements/measurement-batch.ts'
import { measurementOperations } from './resources/measurements/measurements.ts'
import { medicationOperations } from './resources/medications/medications.ts'
import { aqlOperations } from './resources/openehr/aql.ts'
import { compositionOperations } from './resources/openehr/composition.ts'
import { storedQueryOperations } from './resources/openehr/stored-query.ts'
import { archetypeOperations, templateOperations } from './resources/openehr/template.ts'
import { restQueryOperations } from './resources/openehr-rest/queries/rest-query.ts'
import { restQueryDefinitionOperations } from './resources/openehr-rest/queries/rest-query-definition.ts'
import { restCompositionOperations } from './resources/openehr-rest/rest-composition.ts'
import { restContributionOperations } from './resources/openehr-rest/rest-contribution.ts'
import { restDirectoryOperations } from './resources/openehr-rest/rest-directory.ts'
import { restEhrOperations } from './resources/openehr-rest/rest-ehr.ts'
import { restEhrStatusOperations } from './resources/openehr-rest/rest-ehr-status.ts'
import { restOptionsOperations } from './resources/openehr-rest/rest-options.ts'
import { restTemplateOperations } from './resources/openehr-rest/rest-template.ts'
import { problemTypeOperations } from './resources/problems.ts'
import { contactDetailsOperations } from './resources/profiles/contact-details.ts'
import { exportOperations } from './resources/profiles/export.ts'
import { helperOperations } from './resources/profiles/helpers.ts'
import { networkOperations } from './resources/profiles/network.ts'
import { pictureOperations } from './resources/profiles/picture.ts'
import { profileOperations } from './resources/profiles/profile.ts'
import { relationOperations } from './resources/profiles/relation.ts'
import { questionnaireOperations } from './resources/questionnaires/questionnaires.ts'
import { typeOperations } from './resources/types/types.ts'
import { userDataOperations } from './resources/user-data/user-data-operations.ts'
import { handoverOperations } from './resources/worklist/handovers.ts'
import { worklistOperations } from './resources/worklist/worklist.ts'

/** All operations of the path family: source of the router, the OpenAPI document and the contract tests. */
export const operationTable: readonly Operation[] = [
  ...startPage,
  ...healthOperations,
  ...problemTypeOperations,
  ...registrationOperations,
  ...passwordOperations,
  ...loginOperations,
  ...sessionOperations,
  ...systemOperations,
  ...registeredAppOperations,
  ...appGrantOperations,
  ...authorizationPages,
  ...smartTokenOperations,
  ...smartMetadataOperations,
  ...identityOperations,
  ...accountOperations,
  ...profileOperations,
  ...pictureOperations,
  ...contactDetailsOperations,
  ...relationOperations,
  ...networkOperations,
  ...helperOperations,
  ...exportOperations,
  ...accountPages,
  ...administratorPage,
  ...administrationOperations,
  ...ehrOperations,
  ...ehrAccessOperations,
  ...deletedRecordOperations,
  ...auditPages,
  ...carePlanOperations,
  ...goalOperations,
  ...taskOperations,
  ...participantOperations,
  ...carePlanSettingsOperations,
  ...carePlanThresholdsOperations,
  ...carePlanAlertRulesOperations,
  ...eventOperations,
  ...alertOperations,
  ...measurementOperations,
  ...questionnaireOperations,
  ...measurementBatchOperations,
  ...conditionOperations,
  ...medicationOperations,
  ...summaryOperations,
  ...carePlanHistoryOperations,
  ...carePlanTemplateOperations,
  ...templateOperations,
  ...archetypeOperations,
  ...compositionOperations,
  ...aqlOperations,
  ...storedQueryOperations,
  ...restOptionsOperations,
  ...restEhrOperations,
  ...restEhrStatusOperations,
  ...restCompositionOperations,
  ...restContributionOperations,
  ...restDirectoryOperations,
  ...restTemplateOperations,
  ...restQueryDefinitionOperations,
  ...restQueryOperations,
  ...[
    ...fhirMetadataOperations,
    ...fhirBundleOperations,
    ...fhirResourceOperations,
    ...fhirPatientOperations,
    ...fhirTypeOperations,
    ...fhirExportOperations,
    ...fhirSubscriptionOperations,
  ].map(withGeneralParameters),
  ...typeOperations,
  ...userDataOperations,
  ...chatOperations,
  ...worklistOperations,
  ...handoverOperations,
  ...changeStreamOperations,
  ...accountChangeOperations,
]
