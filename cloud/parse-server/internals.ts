import type { IncludingQuery } from './adapter/includes.ts'
import { type ClassSchemas, toClassObject } from './adapter/object-conversion.ts'
import type { FieldTypes } from './adapter/open-environment.ts'
import type { ParseCache } from './adapter/parse-cache.ts'
import { encodeQueryKeys, type QueryConversion } from './adapter/query-keys.ts'
import type { Configurations } from './adapter/request/request-database.ts'
import { requireParseServerWithStubs } from './module-stubs.ts'
import type { WriteModules } from './object-writes.ts'
import type { SchemaMigration } from './schema-check.ts'

/** Loads an internal module of Parse Server. */
const load = async (name: string) => (await import(`parse-server/lib/${name}.js`)).default

/**
 * Loads Parse Server's modules, including internal ones. They take half a second, so the service loads them
 * while the database starts. They depend on each other in cycles that only the package entry resolves in the
 * right order; starting from another module leaves some of them incomplete.
 */
export async function loadParseServer() {
  // Read during loading; prevents a folder `logs` in the working directory.
  process.env.PARSE_SERVER_LOGS_FOLDER = 'null'
  const { ParseServer } = requireParseServerWithStubs()
  return {
    ParseServer,
    MongoStorageAdapter: (await load('Adapters/Storage/Mongo/MongoStorageAdapter')).default,
    rest: (await load('rest')) as RestModule,
    query: (await load('RestQuery'))._UnsafeRestQuery.prototype as IncludingQuery,
    RestWrite: (await load('RestWrite')) as WriteModules['RestWrite'],
    triggers: (await load('triggers')) as WriteModules['triggers'],
    routablePaths: (await load('batch')).makeBatchRoutingPathFunction as BatchPathResolver,
    apps: (await load('cache')).default as Configurations['apps'],
    configurations: (await load('Config')) as Configurations['configurations'],
    conversion: (await load('Adapters/Storage/Mongo/MongoTransform')) as WriteModules['conversion'] &
      QueryConversion,
    migration: (await load('SchemaMigrations/DefinedSchemas')).DefinedSchemas.prototype as SchemaMigration,
    fieldTypes: (await load('Controllers/SchemaController')).default.prototype as FieldTypes,
  }
}

/** Resolves the path of a request in a batch. @throws Parse.Error for a path outside of the mount */
type BatchPathResolver = (
  batchUrl: string,
  serverURL: string,
  publicServerURL: string,
) => (path: string) => string

type RestModule = WriteModules['rest'] & {
  /** Queries with the rights of the caller: permissions, ACLs and protected fields apply. */
  find(
    config: unknown,
    auth: unknown,
    className: string,
    where: object,
    options: { distinct: string },
    context: object,
  ): Promise<{ results: unknown[] }>
}

/** Internal modules of Parse Server that accounts use; they have no types. */
export interface AccountInternals {
  config: {
    cacheController: Record<'user' | 'role', ParseCache>
    userController: {
      resendVerificationEmail(username: string, request: object): Promise<unknown>
      sendPasswordResetEmail(email: string): Promise<unknown>
      /** Rejects with a string. */
      updatePassword(token: string, password: string): Promise<unknown>
    }
  }
  auth: { master(config: unknown): unknown; nobody(config: unknown): unknown }
  rest: Record<'create' | 'update', (...args: unknown[]) => Promise<{ response: { objectId: string } }>>
  RestWrite: new (
    config: unknown,
    auth: unknown,
    className: '_User',
    query: { objectId: string },
    data: object,
  ) => { _validatePasswordPolicy(): Promise<void> }
  users: {
    handleLogIn(request: object): Promise<{ response: { sessionToken: string } & Record<string, unknown> }>
  }
  comparePassword(password: string, hash: string | undefined): Promise<boolean>
  createSession(
    config: unknown,
    options: { userId: string; createdWith: object },
  ): { sessionData: { sessionToken: string }; createSession(): Promise<unknown> }
}

/** Parse Server must have started. */
export async function loadAccountInternals(appId: string): Promise<AccountInternals> {
  return {
    config: (await load('Config')).get(appId, '/1'),
    auth: await load('Auth'),
    rest: await load('rest'),
    RestWrite: await load('RestWrite'),
    users: new (await load('Routers/UsersRouter')).UsersRouter(),
    comparePassword: (await load('password')).compare,
    createSession: (await load('RestWrite')).createSession,
  }
}

/** Converts between class form and Parse format; Parse Server must have started. */
export interface ParseTransform {
  /** Returns the database filter for query conditions; modifies `where`. */
  toFilter(className: string, where: object): Promise<object>
  toObject(className: string, document: object): Promise<object>
}

export async function createParseTransform(appId: string): Promise<ParseTransform> {
  const transform = await load('Adapters/Storage/Mongo/MongoTransform')
  const classes: ClassSchemas = await (await load('Config')).get(appId, '/1').database.loadSchema()
  return {
    toFilter: async (className, where) =>
      transform.transformWhere(
        className,
        encodeQueryKeys({ ...where }),
        await classes.getOneSchema(className),
      ),
    toObject: async (className, document) => ({
      __type: 'Object',
      className,
      ...(await toClassObject(transform, classes, className, document)),
    }),
  }
}

/** Names of a user's roles; Parse has them cached if it needed them for this request. */
export async function loadUserRoles(config: unknown, user: object): Promise<string[]> {
  const { Auth } = await load('Auth')
  const roles: string[] = await new Auth({ config, user }).getUserRoles()
  return roles.map((role) => role.replace(/^role:/, ''))
}
