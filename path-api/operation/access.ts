import { isAdmin } from '../../records/store/documents/caller.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { Services } from './services.ts'

/** Who asks, as the token said and `authenticate` verified. */
export interface Principal {
  mvUid: string
  /** The session that the token belongs to; ending it ends the token. */
  sessionId: string
  /** Names of all roles that the user holds, inherited ones included. */
  roles: readonly string[]
  /** When the token ends. */
  validUntil: Date
  /** The application that the token was given to, as the audit shows it. */
  application: string
}

interface Rule {
  /** For the documentation: who passes. */
  who: string
  /**
   * False hides the resource (404); where the caller may read but not do this, the rule throws `Forbidden`. Absent: the
   * permissions of each record decide, and the frame answers with success only when they let the caller reach the EHR
   * of the path, see {@link requireReached}.
   */
  permits?(
    principal: Principal,
    params: Readonly<Record<string, string>>,
    services: Services,
  ): boolean | Promise<boolean>
}

/** The one list of who may do what; an operation names its row. */
export const rules = {
  user: { who: 'anyone who is logged in', permits: () => true },
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
    who: 'the user named in the path, those who are connected with that user, and administrators',
    permits: async (principal, { mvUid = '' }, { profiles }) =>
      principal.mvUid === mvUid ||
      (isAdmin(principal)
        ? profiles.isUser(mvUid)
        : profiles.connections.areConnected(principal.mvUid, mvUid)),
  },
  'user-data': {
    who: 'the user named in the path, those who write an EHR about that user, and the participants of its care plans',
    // The records of those EHRs decide: whoever reaches none of them finds nothing.
    permits: () => true,
  },
  chat: {
    who: 'those who may see what is talked about; a topic about two users is for them, as long as they are connected',
    // The records decide: what the caller may not see is not found.
    permits: () => true,
  },
  'ehr:read': {
    who: 'the subject of the EHR, those who write it, and the participants of its care plans',
  },
  'ehr:write': { who: 'the subject of the EHR, and those who write it' },
  'ehr:subject': {
    who: 'the subject of the EHR, and administrators; its creator while the subject is not a user or has not accepted it',
  },
  'ehr:remove': { who: 'those who may read its audit, and the subject who has not accepted it yet' },
  'ehr:agree': { who: 'the user whom the EHR is about' },
  'plan:read': {
    who: 'the subject of the EHR, those who write it, and the participants of the care plan',
  },
  'plan:write': {
    who: 'the subject of the EHR, those who write it, and the participants who write the care plan',
  },
  'plan:manage': {
    who: 'the subject of the EHR, those who write it, and the participants who manage the care plan',
  },
  admin: {
    who: 'administrators',
    permits: (principal) => {
      if (isAdmin(principal)) return true
      throw new ServiceError('Forbidden', { detail: 'Only administrators may do this.' })
    },
  },
  modeller: {
    who: 'accounts with the role modeller',
    permits: ({ roles }) => {
      if (roles.includes('modeller')) return true
      throw new ServiceError('Forbidden', { detail: 'Only accounts with the role modeller may do this.' })
    },
  },
} satisfies Record<string, Rule>

/** `public` looks at no token at all; `optional` needs none but honours one (and refuses a bad one). */
export type Access = 'public' | 'optional' | keyof typeof rules

/** @returns whether the operation exists for this principal */
export function permits(
  access: Access,
  principal: Principal | undefined,
  params: Readonly<Record<string, string>>,
  services: Services,
): boolean | Promise<boolean> {
  if (access === 'public' || access === 'optional') return true
  const rule: Rule = rules[access]
  if (principal === undefined) return false
  return rule.permits === undefined || rule.permits(principal, params, services)
}

/** Whether the permissions of the records decide, and nothing before them. */
export function isDecidedByRecords(access: Access): boolean {
  const rule: Rule | undefined = access === 'public' || access === 'optional' ? undefined : rules[access]
  return rule !== undefined && rule.permits === undefined
}

/** Whether an operation on one EHR may name this row. */
export const protectsEhr = (access: Access): boolean => access === 'admin' || isDecidedByRecords(access)

/**
 * An answer about an EHR of which no store let the caller reach anything would be unprotected.
 * @param reached the EHRs of which one did
 * @throws Error when the operation went past the stores
 */
export function requireReached(
  { id, access }: { id: string; access: Access },
  { ehrId = '' }: Readonly<Record<string, string>>,
  reached: ReadonlySet<string>,
): void {
  if (isDecidedByRecords(access) && !reached.has(ehrId))
    throw new Error(`${id} answers without asking whether the caller may reach the EHR`)
}
