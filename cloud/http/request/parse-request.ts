import type { Request } from 'express'
import { PRECONDITION_FAILED } from '../../parse-server/adapter/database-errors.ts'
import type { RequestDatabase } from '../../parse-server/adapter/request/request-database.ts'

/** A request with the properties that Parse has added before the middleware runs. */
export interface ParseRequest extends Request {
  config: {
    database: RequestDatabase<ParseSchema>
    serverURL: string
    publicServerURL: string
    /** Start of the `Location` of created objects. */
    mount: string
    requestComplexity: { batchRequestLimit: number }
    cacheController: { role: { del(userId: string): Promise<void> } }
  }
  auth: {
    isMaster: boolean
    /** Whether the key is the READ_ONLY_MASTER_KEY. */
    isReadOnly?: boolean
    user?: { id: string; getACL(): { permissionsById: object } | null }
    getUserRoles(): Promise<string[]>
  }
  info: { context: object; sessionToken?: string; installationId?: string }
  /** Real HTTP method, if the body names another one in `_method`. */
  originalMethod?: string
}

interface ParseSchema {
  getOneSchema(className: string): Promise<{ fields: Record<string, { type: string }> }>
  /** Includes the protected fields of the options. */
  getClassLevelPermissions(className: string): { protectedFields?: Record<string, string[]> } | undefined
}

/** An error in the form of Parse's error handler, usable before the SDK is configured. */
export class Refusal extends Error {
  readonly code: number
  readonly status: number
  constructor(status: number, code: number, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** Error codes of Parse that our responses use. */
export const parseErrorCode = {
  internal: 1,
  notFound: 101,
  invalidQuery: 102,
  invalidKey: 105,
  invalidJson: 107,
  incorrectType: 111,
  forbidden: 119,
  invalidAcl: 123,
  timeout: 124,
  invalidEmail: 125,
  scriptFailed: 141,
  validation: 142,
  duplicateRequest: 159,
  tooManyRequests: 155,
  usernameMissing: 200,
  passwordMissing: 201,
  usernameTaken: 202,
  emailMissing: 204,
  sessionMissing: 206,
  invalidSession: 209,
  unsupportedService: 252,
  preconditionFailed: PRECONDITION_FAILED,
} as const

export const createEndedSessionRefusal = () =>
  new Refusal(401, parseErrorCode.invalidSession, 'Invalid session token')

/** Parse accepts a session of a disabled account. @throws Refusal */
export function requireEnabledAccount({ auth }: ParseRequest): void {
  const acl = auth.user?.getACL()
  if (acl && Object.keys(acl.permissionsById).length === 0) throw createEndedSessionRefusal()
}
