import { elementAt, memberOf } from '../../records/fhir/element-paths.ts'
import { ownUri } from '../../records/fhir/elements.ts'
import type { FhirResource } from '../../records/fhir/mapping.ts'
import { ownedRecordId } from '../../records/profiles/storage/owner.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { isSearch } from './subscription-criteria.ts'
import {
  isActive,
  latestEnd,
  MAX_SUBSCRIPTION_DAYS,
  type StoredSubscription,
  type SubscriptionFields,
} from './subscription-record.ts'

const BACKPORT = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition'
export const SUBSCRIPTION_PROFILE = `${BACKPORT}/backport-subscription`
const FILTER_CRITERIA = `${BACKPORT}/backport-filter-criteria`
const CHANNEL_TYPE = `${BACKPORT}/backport-channel-type`

const MAX_REASON_LENGTH = 1000
const MAX_CRITERIA_LENGTH = 2000

/** R4 has no code for a stream that clients open, and the backport has this extension for other channels. */
const EVENT_STREAM = { system: ownUri('channel-type'), code: 'event-stream' }

/** R4 demands a code of its list. This one is nearest: the client opens a connection and keeps it open. */
const NEAREST_TYPE = 'websocket'

const CHANNEL = {
  type: NEAREST_TYPE,
  _type: { extension: [{ url: CHANNEL_TYPE, valueCoding: EVENT_STREAM }] },
  payload: 'application/fhir+json',
  _payload: { extension: [{ url: `${BACKPORT}/backport-payload-content`, valueCode: 'id-only' }] },
}

/** The resource of a subscription. */
export const showSubscription = (
  { id, userId, version, updatedAt, status, end, reason, topic, criteria }: StoredSubscription,
  now: Date,
): FhirResource => ({
  resourceType: 'Subscription',
  // The ids of systems contain the separator, too.
  id: id.slice(ownedRecordId(userId, '').length),
  meta: {
    versionId: String(version),
    lastUpdated: updatedAt,
    ...(topic !== undefined && { profile: [SUBSCRIPTION_PROFILE] }),
  },
  status: isActive({ status, end }, now) ? 'active' : 'off',
  end,
  reason,
  criteria: topic ?? criteria,
  ...(topic !== undefined &&
    criteria !== undefined && {
      _criteria: { extension: [{ url: FILTER_CRITERIA, valueString: criteria }] },
    }),
  channel: CHANNEL,
})

/** The value of an extension of an element. */
function extensionOf(element: unknown, url: string, value: string): unknown {
  const extensions = memberOf(element, 'extension')
  const extension = Array.isArray(extensions)
    ? extensions.find((one) => memberOf(one, 'url') === url)
    : undefined
  return memberOf(extension, value)
}

const violation = (path: string, code: string, message: string): Violation => ({
  path: `Subscription.${path}`,
  code,
  message,
})

/** The violations of a text that is required. */
function textViolations(value: unknown, path: string, max: number): Violation[] {
  if (value === undefined) return [violation(path, 'required', 'is required')]
  return typeof value === 'string' && value.trim() !== '' && value.length <= max
    ? []
    : [violation(path, 'length', `must be a text of at most ${max} characters`)]
}

/** The states that clients may set; the service activates what is requested. */
const STATUS: Readonly<Record<string, string>> = { requested: 'active', active: 'active', off: 'off' }

function statusViolations(status: unknown): Violation[] {
  if (status === undefined) return [violation('status', 'required', 'is required')]
  return typeof status === 'string' && Object.hasOwn(STATUS, status)
    ? []
    : [violation('status', 'enum', `must be one of ${Object.keys(STATUS).join(', ')}`)]
}

function endViolations(end: unknown, now: Date): Violation[] {
  if (end === undefined) return []
  const isInstant = typeof end === 'string' && /T[^T]*(Z|[+-]\d\d:\d\d)$/.test(end)
  const at = isInstant ? new Date(end) : undefined
  return at && at > now && at <= latestEnd(now)
    ? []
    : [violation('end', 'range', `must be a time in the next ${MAX_SUBSCRIPTION_DAYS} days`)]
}

const HOW_TO_FOLLOW =
  'The client opens a stream of events; other channels do not exist. Send the type websocket with the extension backport-channel-type and its code event-stream'

function channelViolations(channel: unknown): Violation[] {
  const type = memberOf(channel, 'type')
  const coding = extensionOf(memberOf(channel, '_type'), CHANNEL_TYPE, 'valueCoding')
  const isStream = memberOf(coding, 'code') === EVENT_STREAM.code
  if (type === undefined && !isStream)
    return [violation('channel.type', 'required', `is required. ${HOW_TO_FOLLOW}`)]
  return isStream && (type === undefined || type === NEAREST_TYPE)
    ? []
    : [violation('channel.type', 'not-supported', `is not supported. ${HOW_TO_FOLLOW}`)]
}

/** Reads a client's resource: the fields of the subscription, unless there are violations. */
export interface SentSubscription {
  fields: Omit<SubscriptionFields, 'userId' | 'admission'>
  violations: Violation[]
  /** The path of what it looks for. */
  criteriaPath: string
}

/** Reads a Subscription of R4, or of the backport with a topic. */
export function readSubscription(resource: FhirResource, now: Date): SentSubscription {
  const { status, reason, criteria, end } = resource
  const filter = extensionOf(resource._criteria, FILTER_CRITERIA, 'valueString')
  const ofCriteria = textViolations(criteria, 'criteria', MAX_CRITERIA_LENGTH)
  const filterPath = 'criteria.extension[0].valueString'
  const violations = [
    ...statusViolations(status),
    ...textViolations(reason, 'reason', MAX_REASON_LENGTH),
    ...ofCriteria,
    ...(filter === undefined ? [] : textViolations(filter, filterPath, MAX_CRITERIA_LENGTH)),
    ...endViolations(end, now),
    ...channelViolations(elementAt(resource, 'channel')),
  ]
  const hasTopic = ofCriteria.length === 0 && !isSearch(String(criteria))
  const searchText = hasTopic ? filter : criteria
  return {
    violations,
    criteriaPath: `Subscription.${hasTopic && filter !== undefined ? filterPath : 'criteria'}`,
    fields: {
      status: STATUS[String(status)] ?? 'off',
      reason: String(reason),
      ...(hasTopic && { topic: String(criteria) }),
      ...(searchText !== undefined && { criteria: String(searchText) }),
      end:
        typeof end === 'string' && violations.length === 0
          ? new Date(end).toISOString()
          : latestEnd(now).toISOString(),
    },
  }
}
