import { classes } from '../../records/kinds.ts'
import { brokenBeside } from '../../records/registered/rules.ts'
import type { Saved } from '../../records/store/documents/parse-format.ts'
import { sameWriting } from '../../records/store/reading/words.ts'
import { AdverseReactionStored } from '../../schemas/adverse-reaction.ts'
import { answer } from '../answer/answer.ts'
import { operation } from '../operation/operation.ts'
import { requireSameId } from '../operation/parameters.ts'
import { registered, represented } from '../operation/registered.ts'

const { Diagnosis, AdverseReaction, Device } = classes

const source = 'Endpoints, EHR data'

const diagnoses = registered(Diagnosis, '/ehr/{ehrId}/diagnosis', {
  source,
  parameter: 'diagnosisId',
  extra: ['get', 'delete'],
})

/** A record that was put somewhere, and whether it is new there. */
const stored = (
  kind: typeof AdverseReaction | typeof Device,
  path: string,
  { record, created }: { record: Saved<object>; created: boolean },
  location: string,
) =>
  answer(represented(kind, path)(record) as never, {
    version: record.version,
    created,
    ...(created && { location }),
  })

const substance = {
  ...AdverseReaction.fields.substance,
  description: 'The substance, regardless of case and spacing',
}

const ofReactions = '/ehr/{ehrId}/adversereaction'
const ofDevices = '/ehr/{ehrId}/device'

const reactions = [
  operation({
    id: 'putAdverseReaction',
    kind: AdverseReaction.name,
    method: 'put',
    path: `${ofReactions}/{substance}`,
    params: { substance },
    summary: 'Store the adverse reaction to a substance',
    description: 'There is one for each substance: it is created, or replaced as a whole.',
    source,
    access: 'ehr:write',
    body: AdverseReactionStored,
    brokenBeside: (body, bySchema) => brokenBeside(AdverseReaction, body, bySchema),
    creates: true,
    reply: [200, AdverseReaction.resource, 'versioned'],
    errors: ['IdMismatch', 'RuleViolated', 'Conflict'],
    handle: async ({ params: { ehrId, substance }, body: { id, ...body } }, context) => {
      const { caller, reactions, expected, createOnly, newId } = context
      const reaction = { ...body, substance: body.substance ?? substance }
      if (sameWriting(reaction.substance) !== sameWriting(substance))
        requireSameId('substance', '', substance)
      if (id !== undefined) requireSameId('id', id, (await reactions.keyOf(ehrId, { substance })).id)
      const put = await reactions.put(caller, ehrId, reaction, { expected, createOnly }, newId)
      return stored(
        AdverseReaction,
        ofReactions,
        put,
        `/ehr/${ehrId}/adversereaction/${encodeURIComponent(substance)}`,
      )
    },
  }),
  ...registered(AdverseReaction, ofReactions, {
    source,
    parameter: 'substance',
    without: ['add', 'replace'],
    extra: ['delete'],
    named: {
      schema: substance,
      keyOf: (params, { reactions }) => {
        const { ehrId, substance } = params as { ehrId: string; substance: string }
        return reactions.keyOf(ehrId, { substance })
      },
    },
  }),
]

const devices = [
  operation({
    id: 'putDevice',
    kind: Device.name,
    method: 'put',
    path: ofDevices,
    summary: 'Store a device',
    description:
      'A device is identified by its serial number or UDI, without either by its name, regardless of case and spacing: a known device is replaced as a whole, a new one is created.',
    source,
    access: 'ehr:write',
    body: Device.body,
    brokenBeside: (body, bySchema) => brokenBeside(Device, body, bySchema),
    creates: true,
    reply: [200, Device.resource, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { ehrId }, body }, { caller, devices, expected, createOnly, newId }) => {
      const put = await devices.put(caller, ehrId, body, { expected, createOnly }, newId)
      return stored(Device, ofDevices, put, `/ehr/${ehrId}/device/${put.record.id}`)
    },
  }),
  ...registered(Device, ofDevices, {
    source,
    parameter: 'deviceId',
    without: ['add'],
    extra: ['get', 'replace', 'delete'],
  }),
]

export const conditions = [...diagnoses, ...reactions, ...devices]
