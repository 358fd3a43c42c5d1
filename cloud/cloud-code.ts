import type Parse from 'parse/node'
import type { Helpers } from '../records/accounts/helpers/helpers.ts'
import { cachedEhrFinder } from '../records/ehr-records/parents/parents.ts'
import { Event } from '../records/events/event.ts'
import type { Events } from '../records/events/events.ts'
import type { Handovers } from '../records/handovers/handovers.ts'
import { CLASS_NAMES, classKindOf } from '../records/kinds.ts'
import type { PlanAlertRulesStore } from '../records/measurements/alerts/alert-rules.ts'
import {
  classifyBloodPressure,
  conditionViolations,
} from '../records/measurements/calculations/blood-pressure-condition.ts'
import { bmiViolations, calculateBmi } from '../records/measurements/calculations/bmi.ts'
import { acqViolations, scoreAcq } from '../records/measurements/calculations/scores/acq-score.ts'
import { newId } from '../records/store/documents/ids.ts'
import type { StoreContext } from '../records/store/writing/transaction.ts'
import type { PatientCards } from '../records/worklist/patient-cards.ts'
import type { Worklists } from '../records/worklist/worklist.ts'
import { HandleAlertParams } from '../schemas/events/alert-handling.ts'
import { AlertRulesParams, SaveAlertRulesParams } from '../schemas/events/alert-rules.ts'
import { toClassForm } from '../schemas/forms/class-form.ts'
import { AcqParams } from '../schemas/measurements/acq.ts'
import { BloodPressureConditionParams } from '../schemas/measurements/blood-pressure-condition.ts'
import { BmiParams } from '../schemas/measurements/bmi.ts'
import {
  EndHandoverParams,
  HandoverBody,
  HandoverListParams,
  NoParams,
} from '../schemas/worklist/handover.ts'
import { PatientParams } from '../schemas/worklist/patient-card.ts'
import { WorklistParams } from '../schemas/worklist/worklist-entry.ts'
import { defineFunction } from './functions/define-function.ts'
import { registerHelperFunctions } from './functions/helper-functions.ts'
import { translateOutage } from './request/parse-errors.ts'
import { afterFindEhr, beforeFindEhr } from './triggers/ehr-find-triggers.ts'
import { beforeCreate } from './triggers/objects/create-triggers.ts'
import { beforeUpdate } from './triggers/objects/update-triggers.ts'
import { beforeSaveUser, createEhrAtFirstLogin } from './triggers/user-triggers.ts'

/**
 * Registers the triggers of the class family. They validate objects and fill in what follows from their
 * properties. The open test environment has none.
 */
export function registerCloudTriggers({ Cloud }: typeof Parse, context: StoreContext): void {
  const findEhrId = cachedEhrFinder(context)
  for (const className of CLASS_NAMES) {
    const kind = classKindOf(className)
    Cloud.beforeSave(
      className,
      (request) =>
        // The SDK's type lacks the object that a trigger may return.
        translateOutage<unknown>(
          request.original
            ? beforeUpdate(context, kind, request)
            : beforeCreate(context, findEhrId, kind, request),
        ) as Promise<void>,
    )
  }

  Cloud.beforeFind('Ehr', (request) => beforeFindEhr(context, request) as never)
  Cloud.afterFind('Ehr', (request) => afterFindEhr(context, request as never))
  Cloud.beforeSave('_User', (request) => translateOutage(beforeSaveUser(context, request)))
  Cloud.afterLogin((request) => translateOutage(createEhrAtFirstLogin(context, request)))
}

/** Registers the functions that only calculate. */
export function registerCloudFunctions({ Cloud }: typeof Parse): void {
  defineFunction(Cloud, 'bmi', { params: BmiParams, violations: bmiViolations, run: calculateBmi })
  defineFunction(Cloud, 'acq', { params: AcqParams, violations: acqViolations, run: scoreAcq })
  defineFunction(Cloud, 'bloodPressureCondition', {
    params: BloodPressureConditionParams,
    violations: conditionViolations,
    run: classifyBloodPressure,
  })
}

/** The services that functions call. */
interface FunctionServices {
  helpers: Helpers
  events: Events
  alertRules: PlanAlertRulesStore
  worklists: Worklists
  patients: PatientCards
  handovers: Handovers
}

/** Registers the functions that change records. The open test environment has none. */
export function registerRecordFunctions(parse: typeof Parse, services: FunctionServices): void {
  const { Cloud } = parse
  const { events, worklists, patients } = services
  registerHelperFunctions(parse, services.helpers)
  defineFunction(Cloud, 'worklist', {
    params: WorklistParams,
    run: async ({ limit = 100, cursor, ...filter }, getCaller) =>
      worklists.list(await getCaller(), filter, { limit, cursor, count: false }),
  })
  defineFunction(Cloud, 'patient', {
    params: PatientParams,
    run: async ({ ehrId }, getCaller) => patients.get(await getCaller(), ehrId),
  })
  defineFunction(Cloud, 'handleAlert', {
    params: HandleAlertParams,
    async run({ eventId: id, version, ...step }, getCaller) {
      const expected = version === undefined ? undefined : [version]
      const alert = await events.handleAlert(await getCaller(), { id }, step, { expected })
      const { createdAt, updatedAt } = alert
      const fields = { ...Event.parentIds, ...Event.fields }
      return { objectId: id, createdAt, updatedAt, version: alert.version, ...toClassForm(fields, alert) }
    },
  })
  registerAlertRuleFunctions(Cloud, services)
  registerHandoverFunctions(Cloud, services)
}

function registerAlertRuleFunctions(
  Cloud: (typeof Parse)['Cloud'],
  { alertRules }: Pick<FunctionServices, 'alertRules'>,
): void {
  defineFunction(Cloud, 'alertRules', {
    params: AlertRulesParams,
    async run({ carePlanId }, getCaller) {
      const { value, version } = await alertRules.get(
        await getCaller(),
        await alertRules.parentIdsOf(carePlanId),
      )
      return { carePlanId, ...value, version }
    },
  })
  defineFunction(Cloud, 'saveAlertRules', {
    params: SaveAlertRulesParams,
    async run({ carePlanId, version: expected, ...rules }, getCaller) {
      const parentIds = await alertRules.parentIdsOf(carePlanId)
      const { value, version } = await alertRules.save(await getCaller(), parentIds, rules, {
        expected: expected === undefined ? undefined : [expected],
      })
      return { carePlanId, ...value, version }
    },
  })
}

function registerHandoverFunctions(
  Cloud: (typeof Parse)['Cloud'],
  { handovers }: Pick<FunctionServices, 'handovers'>,
): void {
  defineFunction(Cloud, 'handOverWorklist', {
    params: HandoverBody,
    run: async (body, getCaller) => handovers.create(await getCaller(), body, newId()),
  })
  defineFunction(Cloud, 'endHandover', {
    params: EndHandoverParams,
    run: async ({ handoverId, version }, getCaller) =>
      handovers.end(await getCaller(), handoverId, version === undefined ? undefined : [version]),
  })
  defineFunction(Cloud, 'handovers', {
    params: HandoverListParams,
    async run({ limit = 100, cursor }, getCaller) {
      const { items, next } = await handovers.list(await getCaller(), { limit, cursor, count: false })
      return { items, next }
    },
  })
  defineFunction(Cloud, 'colleagues', {
    params: NoParams,
    async run(_, getCaller) {
      const { items } = await handovers.listColleagues(await getCaller(), { limit: 100 })
      return { items }
    },
  })
}
