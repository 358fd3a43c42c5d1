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

type Params = Readonly<Record<string, string>>

/** Decides before anything is done. */
interface Before {
  /** False hides the resource (404); where the caller may read but not do this, the rule throws `Forbidden`. */
  permits(principal: Principal, params: Params, services: Services): boolean | Promise<boolean>
}

/**
 * Leaves it to the permissions of each record. The frame answers with success only when they let the caller reach
 * something there, see {@link requireReached}: an operation that goes past the stores fails.
 */
interface ByRecords {
  /** The parameter of the path that says where. */
  place: 'ehrId' | 'mvUid' | 'id'
  /** @param reached the EHRs of which a store let the caller reach something, and the users with whom they are connected */
  suffices(reached: ReadonlySet<string>, place: string | undefined, principal: Principal | undefined): boolean
}

/** `who` passes, for the documentation. */
type Rule = { who: string } & (Before | ByRecords)

const inEhr: ByRecords = {
  place: 'ehrId',
  suffices: (reached, ehrId) => ehrId !== undefined && reached.has(ehrId),
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
    place: 'mvUid',
    // A user may have no EHR yet.
    suffices: (reached, mvUid, principal) => reached.size > 0 || principal?.mvUid === mvUid,
  },
  chat: {
    who: 'those who may see what the topic is about; a topic between two users is for them while they are connected',
    place: 'id',
    suffices: (reached) => reached.size > 0,
  },
  'ehr:read': {
    who: 'the subject of the EHR, those who write it, and the participants of its care plans',
    ...inEhr,
  },
  'ehr:write': { who: 'the subject of the EHR, and those who write it', ...inEhr },
  'ehr:subject': {
    who: 'the subject of the EHR, and administrators; its creator while the subject is not a user or has not accepted it',
    ...inEhr,
  },
  'ehr:remove': {
    who: 'those who may read its audit, and the subject who has not accepted it yet',
    ...inEhr,
  },
  'ehr:agree': { who: 'the user whom the EHR is about', ...inEhr },
  'plan:read': {
    who: 'the subject of the EHR, those who write it, and the participants of the care plan',
    ...inEhr,
  },
  'plan:write': {
    who: 'the subject of the EHR, those who write it, and the participants who write the care plan',
    ...inEhr,
  },
  'plan:manage': {
    who: 'the subject of the EHR, those who write it, and the participants who manage the care plan',
    ...inEhr,
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

const ruleOf = (access: Access): Rule | undefined =>
  access === 'public' || access === 'optional' ? undefined : rules[access]

/** @returns whether the operation exists for this principal */
export function permits(
  access: Access,
  principal: Principal | undefined,
  params: Params,
  services: Services,
): boolean | Promise<boolean> {
  const rule = ruleOf(access)
  if (rule === undefined) return true
  if (principal === undefined) return false
  return 'place' in rule || rule.permits(principal, params, services)
}

/** Whether an operation with these parameters may name this row: one on an EHR needs one that protects EHRs. */
export function fits(access: Access, params: object): boolean {
  const rule = ruleOf(access)
  const place = rule && 'place' in rule ? rule.place : undefined
  return 'ehrId' in params
    ? access === 'admin' || place === 'ehrId'
    : place === undefined || Object.hasOwn(params, place)
}

/**
 * A success for which no store let the caller reach anything would be unprotected.
 * @throws Error when the operation went past the stores
 */
export function requireReached(
  { id, access }: { id: string; access: Access },
  params: Params,
  principal: Principal | undefined,
  reached: ReadonlySet<string>,
): void {
  const rule = ruleOf(access)
  if (rule && 'place' in rule && !rule.suffices(reached, params[rule.place], principal))
    throw new Error(`${id} answers without asking whether the caller may reach what it is about`)
}
