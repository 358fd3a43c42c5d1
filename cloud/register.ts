import type Parse from 'parse/node'
import { CLASS_NAMES, classKind } from '../records/kinds.ts'
import { PlanThresholds } from '../records/measurements/alerts/plan-thresholds.ts'
import {
  bloodPressureCondition,
  conditionViolations,
} from '../records/measurements/calculations/blood-pressure-condition.ts'
import { bmi, bmiViolations } from '../records/measurements/calculations/bmi.ts'
import { acq, acqViolations } from '../records/measurements/calculations/scores/acq.ts'
import { sharedHolders } from '../records/registered/into.ts'
import { announcer, type LastRead } from '../records/store/announce.ts'
import type { Records } from '../records/store/writing/transaction.ts'
import { AcqParams } from '../schemas/acq.ts'
import { ConditionParams } from '../schemas/blood-pressure-condition.ts'
import { BmiParams } from '../schemas/bmi.ts'
import { defineFunction } from './functions/define.ts'
import type { RespondInFull } from './parse-server/adapter/full-responses.ts'
import type { JoinWrite } from './parse-server/adapter/joint-writes.ts'
import { tellOutage } from './request/refusals.ts'
import { beforeCreate } from './triggers/objects/create.ts'
import type { Family } from './triggers/objects/family.ts'
import { afterCreate, beforeDelete } from './triggers/objects/remove.ts'
import { beforeUpdate } from './triggers/objects/update.ts'
import { afterFindEhr, beforeFindEhr } from './triggers/subjects.ts'
import { beforeSaveUser, ensureEhr } from './triggers/users.ts'

/**
 * What the class family does beyond storing: it judges what is saved, decides who may see it, and keeps
 * together what belongs together. The open test environment does without.
 */
export function registerTriggers(
  { Cloud }: typeof Parse,
  records: Records,
  parts: { lastRead: LastRead; joinWrite: JoinWrite; respondInFull: RespondInFull },
): void {
  const { lastRead, joinWrite, respondInFull } = parts
  const find = sharedHolders(records, PlanThresholds.collection)
  const family: Family = {
    records,
    find,
    announce: announcer(records, lastRead),
    joinWrite,
  }
  respondInFull((className, object) => tellOutage(afterCreate(records, className, object)))
  for (const className of CLASS_NAMES) {
    const kind = classKind(className)
    Cloud.beforeSave(className, (request) =>
      tellOutage(
        request.original ? beforeUpdate(family, kind, request) : beforeCreate(family, kind, request),
      ),
    )
    Cloud.beforeDelete(className, (request) => tellOutage(beforeDelete(family, kind, request)))
  }

  Cloud.beforeFind('Ehr', (request) => beforeFindEhr(records, request) as never)
  Cloud.afterFind('Ehr', (request) => afterFindEhr(records, request as never))
  Cloud.beforeSave('_User', (request) => tellOutage(beforeSaveUser(records, request)))
  Cloud.afterLogin((request) => tellOutage(ensureEhr(records, request)))
}

/** What the class family calculates for any user. */
export function registerFunctions({ Cloud }: typeof Parse): void {
  defineFunction(Cloud, 'bmi', { params: BmiParams, violations: bmiViolations, calculate: bmi })
  defineFunction(Cloud, 'acq', { params: AcqParams, violations: acqViolations, calculate: acq })
  defineFunction(Cloud, 'bloodPressureCondition', {
    params: ConditionParams,
    violations: conditionViolations,
    calculate: bloodPressureCondition,
  })
}
