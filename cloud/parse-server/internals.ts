import type Parse from 'parse/node'
import { toClientJson, type WriteAnswers } from './adapter/full-responses.ts'
import type { ToObject } from './adapter/read-once.ts'
import type { RoleCache } from './adapter/role-cache.ts'
import { requireParseServer } from './not-loaded.ts'
import type { Migration } from './schema-check.ts'

/**
 * Parse Server's modules, among them those that its package does not offer. They take half a second to load: the
 * service asks for them while the database starts. They depend on each other in circles, which only the package's own
 * entry goes through in the right order: another one that comes first leaves some of them without what they need.
 */
export async function loadParseServer() {
  // Read while they load: without it a folder `logs` appears in the working directory.
  process.env.PARSE_SERVER_LOGS_FOLDER = 'null'
  const { ParseServer } = requireParseServer()
  const { default: adapter } = await import('parse-server/lib/Adapters/Storage/Mongo/MongoStorageAdapter.js')
  const { default: rest } = await import('parse-server/lib/rest.js')
  const { default: cache } = await import('parse-server/lib/cache.js')
  const { default: batch } = await import('parse-server/lib/batch.js')
  const { default: transform } = await import('parse-server/lib/Adapters/Storage/Mongo/MongoTransform.js')
  const { default: controller } = await import('parse-server/lib/Controllers/DatabaseController.js')
  const { default: schemas } = await import('parse-server/lib/SchemaMigrations/DefinedSchemas.js')
  const { default: Parse } = await import('parse/node')
  const toObject: ToObject = transform.mongoObjectToParseObject
  const routablePaths: RoutablePaths = batch.makeBatchRoutingPathFunction
  return {
    ParseServer,
    MongoStorageAdapter: adapter.default,
    rest: rest as Rest,
    routablePaths,
    apps: cache.default as Apps,
    ParseError: Parse.Error,
    toObject,
    writeAnswers: controller.prototype as WriteAnswers,
    migration: schemas.DefinedSchemas.prototype as Migration,
  }
}

/** The applications of this process, by their ids. */
export interface Apps {
  get(id: unknown): unknown
}

/** The path by which a part of a batch is routed. @throws Parse.Error for one outside of the mount */
type RoutablePaths = (
  batchUrl: string,
  serverURL: string,
  publicServerURL: string,
) => (path: string) => string

interface Rest {
  /** A query with the caller's rights: permissions, ACLs and protected fields are enforced. */
  find(
    config: unknown,
    auth: unknown,
    className: string,
    where: object,
    options: { distinct: string },
    context: object,
  ): Promise<{ results: unknown[] }>
}

/** What accounts use of Parse Server's own modules; they have no types. */
export interface AccountInternals {
  config: {
    cacheController: {
      user: { del(sessionToken: string): Promise<void> }
      role: RoleCache
    }
    userController: {
      resendVerificationEmail(username: string, request: object): Promise<unknown>
      sendPasswordResetEmail(email: string): Promise<unknown>
      /** Rejects with a sentence. */
      updatePassword(token: string, password: string): Promise<unknown>
    }
  }
  auth: { master(config: unknown): unknown; nobody(config: unknown): unknown }
  rest: {
    create(
      config: unknown,
      auth: unknown,
      name: string,
      data: object,
      context: object,
    ): Promise<{ response: { objectId: string } }>
    update(config: unknown, auth: unknown, name: string, where: object, data: object): Promise<unknown>
  }
  users: {
    handleLogIn(request: object): Promise<{ response: { sessionToken: string } & Record<string, unknown> }>
    handleVerifyPassword(request: object): Promise<unknown>
  }
  createSession(
    config: unknown,
    of: { userId: string; createdWith: object },
  ): { sessionData: { sessionToken: string }; createSession(): Promise<unknown> }
}

/** Parse Server must have started. */
export async function accountInternals(appId: string): Promise<AccountInternals> {
  const [{ default: Config }, { default: auth }, { default: rest }, { default: router }, { default: write }] =
    await Promise.all([
      import('parse-server/lib/Config.js'),
      import('parse-server/lib/Auth.js'),
      import('parse-server/lib/rest.js'),
      import('parse-server/lib/Routers/UsersRouter.js'),
      import('parse-server/lib/RestWrite.js'),
    ])
  const { createSession } = write
  return { config: Config.get(appId, '/1'), auth, rest, users: new router.UsersRouter(), createSession }
}

/** The ways between the class family's form and the database's; Parse Server must have started. */
export interface ParseForms {
  /** The filter of the database for the conditions of a query, which it changes. */
  filterOf(className: string, where: object): Promise<object>
  objectOf(className: string, document: object): Promise<object>
}

interface SchemaOfAll {
  getOneSchema(className: string): Promise<object>
}

export async function parseForms(appId: string): Promise<ParseForms> {
  const { default: Config } = await import('parse-server/lib/Config.js')
  const { default: transform } = await import('parse-server/lib/Adapters/Storage/Mongo/MongoTransform.js')
  const classes: SchemaOfAll = await Config.get(appId, '/1').database.loadSchema()
  return {
    filterOf: async (className, where) =>
      transform.transformWhere(className, where, await classes.getOneSchema(className)),
    async objectOf(className, document) {
      const schema = await classes.getOneSchema(className)
      const object = transform.mongoObjectToParseObject(className, structuredClone(document), schema)
      return { __type: 'Object', className, ...toClientJson(object) }
    },
  }
}

interface AuthModule {
  Auth: new (of: { config: unknown; user: Parse.User }) => { getUserRoles(): Promise<string[]> }
}

/** The names of a user's roles; Parse has them in its cache when it needed them for this very request. */
export async function rolesOfUser(config: unknown, user: Parse.User): Promise<string[]> {
  const { Auth } = (await import('parse-server/lib/Auth.js')).default as AuthModule
  const roles = await new Auth({ config, user }).getUserRoles()
  return roles.map((role) => role.replace(/^role:/, ''))
}
