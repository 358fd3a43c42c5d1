import {
  CREATION,
  DELETED,
  type SentAudit,
  type SentVersion,
} from '../../../../openehr/contributions/contribution.ts'
import type { CommittedContribution } from '../../../../openehr/contributions/contributions.ts'
import type { Context } from '../../../operation/context.ts'
import { InvalidInput, locateViolation } from '../../../reply/invalid-input.ts'

type CommitContext = Context<'ehr:write'>

/** Whether the client described its commit in headers, so that it becomes a contribution of its own. */
export const isDescribed = ({ commitDetails }: Pick<CommitContext, 'commitDetails'>): boolean =>
  Object.keys(commitDetails).length > 0

/** Commits one version as a contribution, with what the client said in headers. */
export function commitAlone(
  context: CommitContext,
  ehrId: string,
  change: Pick<SentVersion, 'type' | 'preceding' | 'data'>,
): Promise<CommittedContribution> {
  const { caller, contributions, newUuid, isRetry, commitDetails } = context
  const { description, committer, lifecycle } = commitDetails
  const impliedType = !change.preceding ? CREATION : change.data ? '251' : DELETED
  const changeType = commitDetails.changeType ?? impliedType
  const isFit = change.preceding && change.data ? ['250', '251', '252', '253', '666'] : [impliedType]
  if (!isFit.includes(changeType)) throw invalidDetail('change_type', `must be ${isFit.join(', ')}`)
  if (lifecycle !== undefined && !['532', '553', '523'].includes(lifecycle))
    throw invalidDetail('lifecycle_state', 'must be 532 or 553')
  const audit: SentAudit = {
    changeType,
    ...(description && { description: { _type: 'DV_TEXT', value: description } }),
    ...(committer && { committer: { _type: 'PARTY_IDENTIFIED', name: committer } }),
  }
  const version = { ...change, audit, lifecycle: lifecycle ?? (change.data ? '532' : DELETED) }
  return contributions.commit(
    caller,
    ehrId,
    { uid: undefined, audit, versions: [version] },
    { newUuid, isRetry, isSingle: true },
  )
}

const invalidDetail = (path: string, message: string) =>
  new InvalidInput([
    locateViolation('header')({ path: `openehr-audit-details.${path}`, code: 'code', message }),
  ])
