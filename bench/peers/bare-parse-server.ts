/** The bare Parse Server to compare the class family with: our options and classes, and nothing else of ours. */

import express from 'express'
import { classDefinitions } from '../../cloud/class-definitions.ts'
import { allowedRoutes } from '../../cloud/http/class-family-routes.ts'
import { loadParseServer } from '../../cloud/parse-server/internals.ts'
import { createParseOptions } from '../../cloud/parse-server/options.ts'
import { readConfig } from '../../server/config/config.ts'
import { createLog } from '../../server/telemetry/log.ts'

const { ParseServer, MongoStorageAdapter } = await loadParseServer()
const config = readConfig(process.env, false)
const uri = config.mongodbUri ?? ''
const parse = ParseServer(
  createParseOptions(config, `http://${config.host}:${config.port}`, createLog(config), {
    appName: 'bench',
    databaseAdapter: new MongoStorageAdapter({ uri, mongoOptions: { maxTimeMS: 30_000 } }),
    emailAdapter: { sendMail: async () => {} },
    definitions: classDefinitions,
    cloud: () => {},
    routes: allowedRoutes,
    middleware: (_req, _res, next) => next(),
  }) as never,
)
await parse.start()
// Parse Server creates no indexes for a class. Without these its lists would read the whole collection.
const pressures = parse.config.databaseController.adapter.database.collection('BloodPressure')
for (const field of ['ehrId', 'carePlanId']) await pressures.createIndex({ [field]: 1, timestamp: -1 })
const app = express()
app.use('/1', parse.app)
app.listen(config.port, config.host, () => process.send?.('ready'))
process.once('disconnect', () => process.exit(0))
