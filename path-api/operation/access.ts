import { isAdmin, NOT_FOR_HELPERS_MESSAGE } from '../../records/store/documents/caller.ts'
import type { AppPermit } from '../../schemas/accounts/app.ts'
import type { ActingHelper } from '../../schemas/accounts/helper.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { Services } from './services.ts'

/** The user of a verified token. */
export interface Principal {
  mvUid: string
  /** Session of the token; ending the session ends the token. */
  sessionId: string
  /** Names of all roles of the user, inherited ones included. */
  roles: readonly string[]
  /** Expiry time of the token. */
  validUntil: Date
  /** Application of the token, as the audit shows it. */
  application: string
  /** Set when a helper acts for the user. */
  helper?: ActingHelper
  /** A connected system, which may only use the openEHR REST API. */
  isSystem?: true
  /** The limits of an app within the rights of its user, in the FHIR API only. */
  app?: AppPermit
}

type PathParameters = Readonly<Record<string, string>>

/** Decides from the principal, before the handler runs. */
interface PrincipalRule {
  /**
   * Returns false to hide the resource (404). Throws `Forbidden` if the caller may read it but not do this.
   */
  permits(principal: Principal, params: PathParameters, services: Services): boolean | Promise<boolean>
  /** Helpers who act for a user may call the operation, too. */
  helpers?: true
}

/**
 * Leaves the decision to the permissions of the records. A response succeeds only if a store let the caller
 * reach a record there, see {@link requirePermissionChecked}. An operation that bypasses the stores fails.
 */
interface RecordRule {
  /** Path parameter that names the EHR, user or topic. */
  pathParameter: 'ehrId' | 'mvUid' | 'id'
  /**
   * @param reachedIds EHRs in which a store let the caller reach a record, and users connected with the caller
   */
  suffices(
    reachedIds: ReadonlySet<string>,
    pathId: string | undefined,
    principal: Principal | undefined,
  ): boolean
}

/** `who` describes the permitted users in the documentation. */
type AccessRule = { who: string } & (PrincipalRule | RecordRule)

const EHR_RULE: RecordRule = {
  pathParameter: 'ehrId',
  suffices: (reachedIds, ehrId) => ehrId !== undefined && reachedIds.has(ehrId),
}

/** The access rules by name; each operation names one. */
export const accessRules = {
  user: { who: 'anyone who is logged in', helpers: true, permits: () => true },
  account: { who: 'anyone who is logged in, for themselves', permits: () => true },
  own: {
    who: 'the user named in the path',
    permits: (principal, { mvUid }) => principal.mvUid === mvUid,
  },
  self: {
    who: 'the user named in the path, and administrators',
    permits: (principal, { mvUid }) => principal.mvUid === mvUid || isAdmin(principal),
  },
  person: {
    who: 'the user named in the path, and administrators',
    permits: (principal, { mvUid = '' }, { profiles }) =>
      principal.mvUid === mvUid || (isAdmin(principal) && profiles.isUser(mvUid)),
  },
  connection: {
    who: 'the user named in the path, the connections of that user, and administrators',
    permits: async (principal, { mvUid = '' }, { profiles }) =>
      principal.mvUid === mvUid ||
      (isAdmin(principal)
        ? profiles.isUser(mvUid)
        : profiles.connections.areConnected(principal.mvUid, mvUid)),
  },
  'user-data': {
    who: 'the user named in the path, users who can write an EHR about that user, and participants of its care plans',
    pathParameter: 'mvUid',
    // A user may have no EHR yet.
    suffices: (reachedIds, mvUid, principal) => reachedIds.size > 0 || principal?.mvUid === mvUid,
  },
  chat: {
    who: 'users who can see the subject of the topic; for a topic between two users, both while they are connected',
    pathParameter: 'id',
    suffices: (reachedIds) => reachedIds.size > 0,
  },
  record: {
    who: 'users who can read the record',
    pathParameter: 'id',
    suffices: (reachedIds) => reachedIds.size > 0,
  },
  'ehr:create': { who: 'anyone who is logged in', ...EHR_RULE },
  'ehr:read': {
    who: 'the subject of the EHR, users who can write it, and participants of its care plans',
    ...EHR_RULE,
  },
  'ehr:write': { who: 'the subject of the EHR, and users who can write it', ...EHR_RULE },
  'ehr:subject': {
    who: 'the subject of the EHR, and administrators; its creator while the subject is not a user or has not accepted it',
    ...EHR_RULE,
  },
  'ehr:remove': {
    who: 'users who can read its audit, and the subject before accepting it',
    ...EHR_RULE,
  },
  'ehr:agree': { who: 'the subject of the EHR', ...EHR_RULE },
  'plan:read': {
    who: 'the subject of the EHR, users who can write it, and participants of the care plan',
    ...EHR_RULE,
  },
  'plan:write': {
    who: 'the subject of the EHR, users who can write it, and participants with write access to the care plan',
    ...EHR_RULE,
  },
  'plan:manage': {
    who: 'the subject of the EHR, users who can write it, and participants who manage the care plan',
    ...EHR_RULE,
  },
  'plan:delete': { who: 'the subject of the EHR, and users who can write it', ...EHR_RULE },
  admin: {
    who: 'administrators',
    permits: (principal) => {
      if (isAdmin(principal)) return true
      throw new ServiceError('Forbidden', { detail: 'Only administrators can do this.' })
    },
  },
  modeller: {
    who: 'accounts with the role modeller',
    permits: ({ roles }) => {
      if (roles.includes('modeller')) return true
      throw new ServiceError('Forbidden', { detail: 'Only accounts with the role modeller can do this.' })
    },
  },
} satisfies Record<string, AccessRule>

/** `public` ignores tokens. `optional` needs no token but verifies one that is sent. */
export type Access = 'public' | 'optional' | keyof typeof accessRules

const accessRuleOf = (access: Access): AccessRule | undefined =>
  access === 'public' || access === 'optional' ? undefined : accessRules[access]

/** @returns whether the principal may know of the operation */
export function isAccessPermitted(
  access: Access,
  principal: Principal | undefined,
  params: PathParameters,
  services: Services,
): boolean | Promise<boolean> {
  const rule = accessRuleOf(access)
  if (rule === undefined) return true
  if (principal === undefined) return false
  return 'pathParameter' in rule || rule.permits(principal, params, services)
}

/**
 * Where the permissions of records decide, they decide about helpers, too.
 * @throws Forbidden for an operation that a helper never carries out for somebody
 */
export function requireOfferedToHelpers({ access }: { access: Access }): void {
  const rule = accessRuleOf(access)
  if (!rule || !('pathParameter' in rule || rule.helpers))
    throw new ServiceError('Forbidden', {
      detail: NOT_FOR_HELPERS_MESSAGE,
    })
}

/**
 * Whether an operation with these path parameters may use this rule. An operation on an EHR needs a rule that
 * protects EHRs.
 */
export function isAccessApplicable(access: Access, params: object): boolean {
  const rule = accessRuleOf(access)
  const pathParameter = rule && 'pathParameter' in rule ? rule.pathParameter : undefined
  return 'ehrId' in params
    ? access === 'admin' || pathParameter === 'ehrId'
    : pathParameter === undefined || Object.hasOwn(params, pathParameter)
}

/**
 * Rejects a success if no store let the caller reach a record: the data would be unprotected.
 * @throws Error when the operation bypassed the stores
 */
export function requirePermissionChecked(
  { id, access }: { id: string; access: Access },
  params: PathParameters,
  principal: Principal | undefined,
  reachedIds: ReadonlySet<string>,
): void {
  const rule = accessRuleOf(access)
  if (rule && 'pathParameter' in rule && !rule.suffices(reachedIds, params[rule.pathParameter], principal))
    throw new Error(`${id} responded without a permission check on its records`)
}
