import {
  CREATION,
  DELETED,
  type SentAudit,
  type SentVersion,
} from '../../../../openehr/contributions/contribution.ts'
import type { CommittedContribution } from '../../../../openehr/contributions/contributions.ts'
import type { RmObject } from '../../../../openehr/rm/canonical-json.ts'
import type { CommitDetails, Context } from '../../../operation/context.ts'
import { InvalidInput, locateViolation } from '../../../reply/invalid-input.ts'

type CommitContext = Context<'ehr:write'>

/** Whether the client sent an audit of its commit in headers, which makes the commit a contribution of its own. */
export const hasClientAudit = ({ commitDetails }: Pick<CommitContext, 'commitDetails'>): boolean =>
  Object.keys(commitDetails).length > 0

/** Commits one version as a contribution, with the audit that the client sent in headers. */
export function commitSingleVersion(
  context: CommitContext,
  ehrId: string,
  change: Pick<SentVersion, 'type' | 'preceding' | 'data'>,
): Promise<CommittedContribution> {
  const { caller, contributions, newUuid, isRetry, commitDetails } = context
  const clientAudit = readClientAudit(commitDetails, change)
  const version = { ...change, ...clientAudit }
  return contributions.commit(
    caller,
    ehrId,
    { uid: undefined, audit: clientAudit.audit, versions: [version] },
    { newUuid, isRetry, isSingle: true },
  )
}

/** Reads the audit of a commit from its headers. @throws InvalidInput */
export function readClientAudit(
  commitDetails: CommitDetails,
  change: Pick<SentVersion, 'preceding' | 'data'>,
): Pick<SentVersion, 'audit' | 'lifecycle'> {
  const { description, lifecycle } = commitDetails
  const committer = readCommitter(commitDetails)
  const impliedType = !change.preceding ? CREATION : change.data ? '251' : DELETED
  const changeType = commitDetails.changeType ?? impliedType
  const allowedTypes = change.preceding && change.data ? ['250', '251', '252', '253', '666'] : [impliedType]
  if (!allowedTypes.includes(changeType))
    throw invalidDetail('openehr-audit-details.change_type', `must be ${allowedTypes.join(', ')}`)
  if (lifecycle !== undefined && !['532', '553', ...(change.data ? [] : [DELETED])].includes(lifecycle))
    throw invalidDetail('openehr-version.lifecycle_state', 'must be 532 or 553')
  const audit: SentAudit = {
    changeType,
    ...(description && { description: { _type: 'DV_TEXT', value: description } }),
    ...(committer && { committer }),
  }
  return { audit, lifecycle: lifecycle ?? (change.data ? '532' : DELETED) }
}

/** @throws InvalidInput for an incomplete reference */
function readCommitter({ committer: name, ...details }: CommitDetails): RmObject | undefined {
  const { committerId: value, committerNamespace: namespace, committerType: type } = details
  const parts = [value, namespace, type].filter((part) => part !== undefined)
  if (parts.length === 0) return name === undefined ? undefined : { _type: 'PARTY_IDENTIFIED', name }
  if (parts.length < 3)
    throw invalidDetail('openehr-audit-details.committer.external_ref', 'must have id, namespace and type')
  const id = { _type: 'GENERIC_ID', value, scheme: namespace }
  const external_ref = { _type: 'PARTY_REF', namespace, type, id }
  return { _type: 'PARTY_IDENTIFIED', ...(name !== undefined && { name }), external_ref }
}

const invalidDetail = (path: string, message: string) =>
  new InvalidInput([locateViolation('header')({ path, code: 'code', message })])
