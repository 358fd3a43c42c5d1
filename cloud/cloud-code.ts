import type Parse from 'parse/node'
import { batchedParentFinder } from '../records/ehr-records/parents.ts'
import { CLASS_NAMES, classKindOf } from '../records/kinds.ts'
import { PlanThresholds } from '../records/measurements/alerts/plan-thresholds.ts'
import {
  classifyBloodPressure,
  conditionViolations,
} from '../records/measurements/calculations/blood-pressure-condition.ts'
import { bmiViolations, calculateBmi } from '../records/measurements/calculations/bmi.ts'
import { acqViolations, scoreAcq } from '../records/measurements/calculations/scores/acq-score.ts'
import { type CachedDocumentLookup, createWriteAheadRecorder } from '../records/store/write-ahead.ts'
import type { StoreContext } from '../records/store/writing/transaction.ts'
import { AcqParams } from '../schemas/measurements/acq.ts'
import { BloodPressureConditionParams } from '../schemas/measurements/blood-pressure-condition.ts'
import { BmiParams } from '../schemas/measurements/bmi.ts'
import { defineFunction } from './functions/define-function.ts'
import type { WrapNextWrite } from './parse-server/adapter/adapter-writes.ts'
import type { EnableFullResponses } from './parse-server/adapter/full-responses.ts'
import { translateOutage } from './request/parse-errors.ts'
import { afterFindEhr, beforeFindEhr } from './triggers/ehr-find-triggers.ts'
import { beforeCreate } from './triggers/objects/create-triggers.ts'
import { beforeDelete, removeFromDeletedParent } from './triggers/objects/delete-triggers.ts'
import type { TriggerContext } from './triggers/objects/trigger-context.ts'
import { beforeUpdate } from './triggers/objects/update-triggers.ts'
import { beforeSaveUser, createEhrAtFirstLogin } from './triggers/user-triggers.ts'

/**
 * Registers the triggers of the class family. They validate objects, set permissions and write derived
 * records. The open test environment has none.
 */
export function registerCloudTriggers(
  { Cloud }: typeof Parse,
  records: StoreContext,
  parts: { lastRead: CachedDocumentLookup; joinWrite: WrapNextWrite; respondInFull: EnableFullResponses },
): void {
  const { lastRead, joinWrite, respondInFull } = parts
  const find = batchedParentFinder(records, PlanThresholds.collection)
  const family: TriggerContext = {
    records,
    find,
    announce: createWriteAheadRecorder(records, lastRead),
    joinWrite,
  }
  respondInFull((className, object) => translateOutage(removeFromDeletedParent(records, className, object)))
  for (const className of CLASS_NAMES) {
    const kind = classKindOf(className)
    Cloud.beforeSave(className, (request) =>
      translateOutage(
        request.original ? beforeUpdate(family, kind, request) : beforeCreate(family, kind, request),
      ),
    )
    Cloud.beforeDelete(className, (request) => translateOutage(beforeDelete(family, kind, request)))
  }

  Cloud.beforeFind('Ehr', (request) => beforeFindEhr(records, request) as never)
  Cloud.afterFind('Ehr', (request) => afterFindEhr(records, request as never))
  Cloud.beforeSave('_User', (request) => translateOutage(beforeSaveUser(records, request)))
  Cloud.afterLogin((request) => translateOutage(createEhrAtFirstLogin(records, request)))
}

/** Registers the functions of the class family. */
export function registerCloudFunctions({ Cloud }: typeof Parse): void {
  defineFunction(Cloud, 'bmi', { params: BmiParams, violations: bmiViolations, calculate: calculateBmi })
  defineFunction(Cloud, 'acq', { params: AcqParams, violations: acqViolations, calculate: scoreAcq })
  defineFunction(Cloud, 'bloodPressureCondition', {
    params: BloodPressureConditionParams,
    violations: conditionViolations,
    calculate: classifyBloodPressure,
  })
}
