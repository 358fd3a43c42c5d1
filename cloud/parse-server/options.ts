import type { RequestHandler } from 'express'
import type Parse from 'parse/node'
import type { Logger } from 'pino'
import { sessionLengthSeconds } from '../../records/accounts/login/sessions.ts'
import { lockoutSeconds } from '../../records/accounts/login/unknown-addresses.ts'
import { passwordViolations } from '../../records/accounts/user/password-policy.ts'

/** What Parse Server needs to know of the service's configuration. */
export interface ParseConfig {
  open: boolean
  host: string
  port: number
  applicationId: string
  masterKey: string
  restApiKey: string
  javascriptKey: string
  clientKey: string
  dotnetKey: string
  readOnlyMasterKey?: string
  corsOrigins?: string[]
  lockoutAttempts: number
}

/** What differs between the main service and the open test environment, or comes from outside. */
export interface ParseParts {
  /** The service's name, as people read it. */
  appName: string
  databaseAdapter: unknown
  emailAdapter: unknown
  definitions: readonly object[]
  /** Declares triggers and functions; the database is open by then. */
  cloud: (parse: typeof Parse) => void | Promise<void>
  gate: RequestHandler
  /** The routes that are offered, as patterns. */
  routes: readonly string[]
}

const loopback = ['127.0.0.1', '::1']

/**
 * The hardened option set. Every value either closes something that is open by default or names a default that
 * will change, so that the start is free of deprecation warnings.
 */
export function parseOptions(config: ParseConfig, publicUrl: string, log: Logger, parts: ParseParts): object {
  return {
    ...identity(config, publicUrl),
    appName: parts.appName,
    ...limits(),
    ...accounts(config),
    ...silence(log),
    databaseAdapter: parts.databaseAdapter,
    emailAdapter: parts.emailAdapter,
    cloud: parts.cloud,
    directAccess: true,
    requestContextMiddleware: parts.gate,
    schema: config.open
      ? undefined
      : {
          definitions: parts.definitions,
          strict: true,
          lockSchemas: true,
          deleteExtraFields: false,
          recreateModifiedFields: false,
          keepUnknownIndexes: true,
        },
    allowClientClassCreation: config.open,
    allowCustomObjectId: false,
    routeAllowList: parts.routes,
    filesAdapter: noFiles,
    fileUpload: {
      enableForPublic: false,
      enableForAnonymousUser: false,
      enableForAuthenticatedUser: false,
      allowedFileUrlDomains: [],
    },
    fileDownload: {
      enableForPublic: false,
      enableForAnonymousUser: false,
      enableForAuthenticatedUser: false,
    },
    pages: { encodePageParamHeaders: true },
    installation: { duplicateDeviceTokenActionEnforceAuth: true },
    enableProductPurchaseLegacyApi: false,
    allowAggregationForReadOnlyMasterKey: false,
    security: { enableCheck: true, enableCheckLog: false },
  }
}

/** Parse demands a place for files; the class family has none. */
const noFiles = {
  createFile: refuseFile,
  deleteFile: refuseFile,
  getFileData: refuseFile,
  getFileLocation: () => '',
}

function refuseFile(): Promise<never> {
  return Promise.reject(new Error('The class family does not store files'))
}

function identity(config: ParseConfig, publicUrl: string) {
  return {
    appId: config.applicationId,
    masterKey: config.masterKey,
    restAPIKey: config.restApiKey,
    javascriptKey: config.javascriptKey,
    clientKey: config.clientKey,
    dotNetKey: config.dotnetKey,
    ...(config.readOnlyMasterKey === undefined ? {} : { readOnlyMasterKey: config.readOnlyMasterKey }),
    masterKeyIps: loopback,
    readOnlyMasterKeyIps: loopback,
    maintenanceKeyIps: loopback,
    serverURL: `http://${config.host}:${config.port}/1`,
    publicServerURL: `${publicUrl}/1`,
    allowOrigin: [new URL(publicUrl).origin, ...(config.corsOrigins ?? [])],
  }
}

function limits() {
  return {
    maxUploadSize: '1mb',
    defaultLimit: 100,
    maxLimit: 1000,
    requestComplexity: {
      includeDepth: 3,
      includeCount: 10,
      subqueryDepth: 2,
      subqueryLimit: 1000,
      queryDepth: 10,
      graphQLDepth: 10,
      graphQLFields: 100,
      batchRequestLimit: 50,
    },
    idempotencyOptions: { paths: ['classes/.*', 'functions/.*'], ttl: 300 },
  }
}

/** In the open test environment an account works at once: its mails go nowhere. */
function accounts(config: ParseConfig) {
  return {
    enforcePrivateUsers: true,
    enableAnonymousUsers: false,
    enableInsecureAuthAdapters: false,
    allowExpiredAuthDataToken: false,
    sessionLength: sessionLengthSeconds,
    expireInactiveSessions: true,
    revokeSessionOnPasswordReset: true,
    verifyUserEmails: !config.open,
    preventLoginWithUnverifiedEmail: !config.open,
    emailVerifyTokenValidityDuration: 86_400,
    passwordPolicy: {
      validatorCallback: (password: string) =>
        config.open || passwordViolations(password, 'password').length === 0,
      validationError: 'A password has at least 10 characters and at most 72 bytes',
      doNotAllowUsername: true,
      maxPasswordHistory: 5,
      resetTokenValidityDuration: 3600,
    },
    accountLockout: {
      duration: lockoutSeconds / 60,
      threshold: config.lockoutAttempts,
      unlockOnPasswordReset: true,
    },
    protectedFields: { _User: { '*': ['email'] } },
    protectedFieldsOwnerExempt: true,
    protectedFieldsTriggerExempt: true,
    protectedFieldsSaveResponseExempt: false,
  }
}

/** Parse's own messages quote inputs, hence: faults of the server only, and of their texts the beginning. */
function silence(log: Logger) {
  const silent = 'silent'
  return {
    logLevel: 'warn',
    logsFolder: null,
    silent: true,
    loggerAdapter: {
      log: (_level: string, message: unknown, ...rest: unknown[]) => {
        const err = [message, ...rest].find((said) => said instanceof Error)
        const text = typeof message === 'string' ? message : 'Parse Server'
        if (text.startsWith('Failed to run migrations')) log.error(text)
        else log[err && !isClientError(err) ? 'error' : 'debug']({ err }, text.split(/[:\n]/)[0])
      },
    },
    logLevels: {
      triggerAfter: silent,
      triggerBeforeError: silent,
      triggerBeforeSuccess: silent,
      cloudFunctionSuccess: silent,
      cloudFunctionError: silent,
      signupUsernameTaken: silent,
    },
  }
}

/** A refusal that the client may see, unlike code 1, "internal server error". */
function isClientError(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code
  return typeof code === 'number' && code !== 1 && !(error as Error).name.startsWith('Mongo')
}
