import type { RequestHandler } from 'express'
import type Parse from 'parse/node'
import type { Logger } from 'pino'
import { ACCOUNT_LOCKOUT_S } from '../../records/accounts/login/login-lockout.ts'
import { SESSION_IDLE_TIMEOUT_S } from '../../records/accounts/login/sessions.ts'
import { PASSWORD_LINK_TTL_S } from '../../records/accounts/user/credentials.ts'
import { passwordViolations } from '../../records/accounts/user/password-policy.ts'
import { OUTCOME_UNKNOWN_MESSAGE, UNAVAILABLE_MESSAGE } from './adapter/database-errors.ts'

/** Configuration values for Parse Server. */
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

/** Values that differ between the main service and the open test environment, or come from outside. */
export interface ParseDependencies {
  appName: string
  databaseAdapter: unknown
  emailAdapter: unknown
  definitions: readonly object[]
  /** Registers triggers and functions; called after the database has been opened. */
  cloud: (parse: typeof Parse) => void | Promise<void>
  middleware: RequestHandler
  /** Permitted routes as patterns. */
  routes: readonly string[]
}

const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1']

/**
 * Hardened options of Parse Server. Each value closes a feature that is open by default, or sets a default
 * that will change, so that startup logs no deprecation warnings.
 */
export function createParseOptions(
  config: ParseConfig,
  publicUrl: string,
  log: Logger,
  { definitions, middleware, routes, ...parts }: ParseDependencies,
): object {
  return {
    ...identityOptions(config, publicUrl),
    ...parts,
    ...limitOptions(),
    ...accountOptions(config),
    ...loggingOptions(log),
    directAccess: true,
    requestContextMiddleware: middleware,
    schema: config.open
      ? undefined
      : {
          definitions,
          strict: true,
          lockSchemas: true,
          deleteExtraFields: false,
          recreateModifiedFields: false,
          keepUnknownIndexes: true,
        },
    allowClientClassCreation: config.open,
    allowCustomObjectId: false,
    routeAllowList: routes,
    filesAdapter: disabledFilesAdapter,
    fileUpload: { ...FOR_NOBODY, allowedFileUrlDomains: [] },
    fileDownload: FOR_NOBODY,
    pages: { encodePageParamHeaders: true },
    installation: { duplicateDeviceTokenActionEnforceAuth: true },
    enableProductPurchaseLegacyApi: false,
    // Its generic "Permission denied" would hide the reason of a refusal.
    enableSanitizedErrorResponse: false,
    allowAggregationForReadOnlyMasterKey: false,
    security: { enableCheck: true, enableCheckLog: false },
  }
}

const FOR_NOBODY = {
  enableForPublic: false,
  enableForAnonymousUser: false,
  enableForAuthenticatedUser: false,
}

const rejectFileAccess = () => Promise.reject(new Error('The class family does not store files.'))

/** Parse requires a files adapter; the class family has no files. */
const disabledFilesAdapter = {
  createFile: rejectFileAccess,
  deleteFile: rejectFileAccess,
  getFileData: rejectFileAccess,
  getFileLocation: () => '',
}

function identityOptions(config: ParseConfig, publicUrl: string) {
  return {
    appId: config.applicationId,
    masterKey: config.masterKey,
    restAPIKey: config.restApiKey,
    javascriptKey: config.javascriptKey,
    clientKey: config.clientKey,
    dotNetKey: config.dotnetKey,
    ...(config.readOnlyMasterKey === undefined ? {} : { readOnlyMasterKey: config.readOnlyMasterKey }),
    masterKeyIps: LOOPBACK_ADDRESSES,
    readOnlyMasterKeyIps: LOOPBACK_ADDRESSES,
    maintenanceKeyIps: LOOPBACK_ADDRESSES,
    serverURL: `http://${config.host}:${config.port}/1`,
    publicServerURL: `${publicUrl}/1`,
    allowOrigin: [new URL(publicUrl).origin, ...(config.corsOrigins ?? [])],
    allowHeaders: ['If-Match', 'If-None-Match'],
  }
}

function limitOptions() {
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
  }
}

/** Accounts of the open test environment are active immediately and its mails are discarded. */
function accountOptions(config: ParseConfig) {
  return {
    enforcePrivateUsers: true,
    enableAnonymousUsers: false,
    enableInsecureAuthAdapters: false,
    allowExpiredAuthDataToken: false,
    sessionLength: SESSION_IDLE_TIMEOUT_S,
    expireInactiveSessions: true,
    revokeSessionOnPasswordReset: true,
    verifyUserEmails: !config.open,
    preventLoginWithUnverifiedEmail: !config.open,
    emailVerifyTokenValidityDuration: 86_400,
    passwordPolicy: {
      validatorCallback: (password: string) =>
        config.open || passwordViolations(password, 'password').length === 0,
      validationError: 'A password must have at least 10 characters and at most 72 bytes in UTF-8.',
      doNotAllowUsername: true,
      maxPasswordHistory: 5,
      resetTokenValidityDuration: PASSWORD_LINK_TTL_S,
      resetTokenReuseIfValid: true,
    },
    // The main service counts failed logins itself.
    ...(config.open && {
      accountLockout: { duration: ACCOUNT_LOCKOUT_S / 60, threshold: config.lockoutAttempts },
    }),
    protectedFields: { _User: { '*': ['email'] } },
    protectedFieldsOwnerExempt: true,
    protectedFieldsTriggerExempt: true,
    protectedFieldsSaveResponseExempt: false,
  }
}

/** Parse's messages quote inputs. So only server errors are logged, truncated. */
function loggingOptions(log: Logger) {
  const silent = 'silent'
  return {
    logLevel: 'warn',
    logsFolder: null,
    silent: true,
    loggerAdapter: {
      log: (_level: string, message: unknown, ...rest: unknown[]) => {
        const err = [message, ...rest].find((part) => part instanceof Error)
        const text = typeof message === 'string' ? message : 'Parse Server'
        if (text.startsWith('Failed to run migrations')) log.error(text)
        else if (isOutageError(err))
          log.warn({ err: err.cause ?? err }, 'The service is temporarily unavailable')
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

/** Whether an error is answered with a 503, and recovers by itself. */
const isOutageError = (error: unknown): error is Error =>
  error instanceof Error && [UNAVAILABLE_MESSAGE, OUTCOME_UNKNOWN_MESSAGE].includes(error.message)

/** Whether the client may see an error, unlike code 1, "internal server error". */
function isClientError(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code
  return typeof code === 'number' && code !== 1 && !(error as Error).name.startsWith('Mongo')
}
