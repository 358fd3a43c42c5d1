import type { Request } from 'express'
import type { RequestDatabase } from '../../parse-server/adapter/request-database.ts'

/** What Parse has added to a request by the time that the gate sees it. */
export interface ParseRequest extends Request {
  config: {
    database: RequestDatabase<ParseSchema>
    serverURL: string
    publicServerURL: string
    requestComplexity: { batchRequestLimit: number }
  }
  auth: {
    isMaster: boolean
    /** By the key that may only read. */
    isReadOnly?: boolean
    user?: { id: string }
    getUserRoles(): Promise<string[]>
  }
  info: { context: object; sessionToken?: string; installationId?: string }
  /** The real method of a request whose body named another one in `_method`. */
  originalMethod?: string
}

export interface ParseSchema {
  getOneSchema(className: string): Promise<{ fields: Record<string, { type: string }> }>
  /** With the protected fields of the options merged in. */
  getClassLevelPermissions(className: string): { protectedFields?: Record<string, string[]> } | undefined
}

/** A refusal as Parse's error handler reads it, without importing the SDK before it is configured. */
export class Refusal extends Error {
  readonly code: number
  readonly status: number
  constructor(status: number, code: number, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** Parse's codes that we answer with ourselves. */
export const code = {
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
  tooManyRequests: 155,
  usernameMissing: 200,
  passwordMissing: 201,
  usernameTaken: 202,
  emailMissing: 204,
  invalidSession: 209,
  unsupportedService: 252,
} as const
