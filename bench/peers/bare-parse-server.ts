/** The other side of the class-family benchmark: Parse Server with our options and classes, and nothing of ours around it. */

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
// Parse Server indexes nothing of a class: without these its lists would read all that there is.
const pressures = parse.config.databaseController.adapter.database.collection('BloodPressure')
for (const field of ['ehrId', 'carePlanId']) await pressures.createIndex({ [field]: 1, timestamp: -1 })
const app = express()
app.use('/1', parse.app)
app.listen(config.port, config.host, () => process.send?.('ready'))
process.once('disconnect', () => process.exit(0))
