/**
 * Parse Server's modules, among them those that its package does not offer. They take half a second to load: the
 * service asks for them while the database starts. They depend on each other in circles, which only the package's own
 * entry goes through in the right order: another one that comes first leaves some of them without what they need.
 */
export async function loadParseServer() {
  // Read while they load: without it a folder `logs` appears in the working directory.
  process.env.PARSE_SERVER_LOGS_FOLDER = 'null'
  const { ParseServer } = await import('parse-server')
  const { default: adapter } = await import('parse-server/lib/Adapters/Storage/Mongo/MongoStorageAdapter.js')
  const { default: rest } = await import('parse-server/lib/rest.js')
  const { default: batch } = await import('parse-server/lib/batch.js')
  const routablePaths: RoutablePaths = batch.makeBatchRoutingPathFunction
  return { ParseServer, MongoStorageAdapter: adapter.default, rest: rest as Rest, routablePaths }
}

/** What a path inside a batch is to the routes. @throws Parse.Error for one that lies outside of the mount */
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
