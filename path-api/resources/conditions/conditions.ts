import { normalizeText } from '../../../records/conditions/search-words.ts'
import { ruleViolationsBesideSchema } from '../../../records/ehr-records/validation/record-validation.ts'
import { classKinds } from '../../../records/kinds.ts'
import type { SavedRecord } from '../../../records/store/documents/parse-format.ts'
import { AdverseReactionBody } from '../../../schemas/conditions/adverse-reaction.ts'
import { defineOperation } from '../../operation/operation.ts'
import { requireSameId } from '../../operation/path-parameters.ts'
import { createRepresent, defineRecordOperations } from '../../operation/record-operations.ts'
import { replyWith } from '../../reply/reply.ts'

const { Diagnosis, AdverseReaction, Device } = classKinds

const conditionsSource = 'Endpoints, EHR data'

const diagnosisOperations = defineRecordOperations(Diagnosis, '/ehr/{ehrId}/diagnosis', {
  source: conditionsSource,
  parameter: 'diagnosisId',
  extra: ['get', 'delete'],
})

/** Replies with a stored record, and 201 if it is new. */
const replyWithStored = (
  kind: typeof AdverseReaction | typeof Device,
  path: string,
  { record, created }: { record: SavedRecord<object>; created: boolean },
  location: string,
) =>
  replyWith(createRepresent(kind, path)(record) as never, {
    version: record.version,
    created,
    ...(created && { location }),
  })

const substanceParameter = {
  ...AdverseReaction.fields.substance,
  description: 'Substance, regardless of case and spacing',
}

const reactionsPath = '/ehr/{ehrId}/adversereaction'
const devicesPath = '/ehr/{ehrId}/device'

const reactionOperations = [
  defineOperation({
    id: 'putAdverseReaction',
    kind: AdverseReaction.name,
    method: 'put',
    path: `${reactionsPath}/{substance}`,
    params: { substance: substanceParameter },
    summary: 'Replace the adverse reaction to a substance, or create it',
    description: 'Creates the adverse reaction to this substance, or replaces it as a whole.',
    source: conditionsSource,
    access: 'ehr:write',
    body: AdverseReactionBody,
    furtherViolations: (body, bySchema) => ruleViolationsBesideSchema(AdverseReaction, body, bySchema),
    creates: true,
    reply: [200, AdverseReaction.resource, 'versioned'],
    errors: ['IdMismatch', 'RuleViolated', 'Conflict'],
    handle: async ({ params: { ehrId, substance }, body: { id, ...body } }, context) => {
      const { caller, reactions, ifMatch, createOnly, newId } = context
      const reaction = { ...body, substance: body.substance ?? substance }
      if (normalizeText(reaction.substance) !== normalizeText(substance))
        requireSameId('substance', '', substance)
      if (id !== undefined) requireSameId('id', id, (await reactions.findKey(ehrId, { substance })).id)
      const put = await reactions.put(caller, ehrId, reaction, { expected: ifMatch, createOnly }, newId)
      return replyWithStored(
        AdverseReaction,
        reactionsPath,
        put,
        `/ehr/${ehrId}/adversereaction/${encodeURIComponent(substance)}`,
      )
    },
  }),
  ...defineRecordOperations(AdverseReaction, reactionsPath, {
    source: conditionsSource,
    parameter: 'substance',
    without: ['add', 'replace'],
    extra: ['delete'],
    alternateKey: {
      schema: {
        ...substanceParameter,
        description: `${substanceParameter.description}; or the id of the adverse reaction`,
      },
      keyOf: async (params, { reactions }) => {
        const { ehrId, substance } = params as { ehrId: string; substance: string }
        const key = await reactions.findKeyOrDeleted(ehrId, { substance })
        return key.id === '' ? { id: substance, ehrId } : key
      },
    },
  }),
]

const deviceOperations = [
  defineOperation({
    id: 'putDevice',
    kind: Device.name,
    method: 'put',
    path: devicesPath,
    summary: 'Replace a device, or create it',
    description:
      'Creates a device, or replaces the one with the same serial number or UDI as a whole. Without either, the name identifies the device, regardless of case and spacing.',
    source: conditionsSource,
    access: 'ehr:write',
    body: Device.body,
    furtherViolations: (body, bySchema) => ruleViolationsBesideSchema(Device, body, bySchema),
    creates: true,
    reply: [200, Device.resource, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { ehrId }, body }, { caller, devices, ifMatch, createOnly, newId }) => {
      const put = await devices.put(caller, ehrId, body, { expected: ifMatch, createOnly }, newId)
      return replyWithStored(Device, devicesPath, put, `/ehr/${ehrId}/device/${put.record.id}`)
    },
  }),
  ...defineRecordOperations(Device, devicesPath, {
    source: conditionsSource,
    parameter: 'deviceId',
    without: ['add'],
    extra: ['get', 'replace', 'delete'],
  }),
]

export const conditionOperations = [...diagnosisOperations, ...reactionOperations, ...deviceOperations]
