/** The other side of the class-family benchmark: Parse Server with our options and classes, and nothing of ours around it. */
import express from 'express'
import { classDefinitions } from '../cloud/class-definitions.ts'
import { readConfig } from '../server/config.ts'
import { createLog } from '../server/log.ts'
import { loadParseServer } from '../server/parse-modules.ts'
import { parseOptions } from '../server/parse-options.ts'

const { ParseServer, MongoStorageAdapter } = await loadParseServer()
const config = readConfig(process.env, false)
const uri = config.mongodbUri ?? ''
const parse = ParseServer(
  parseOptions(config, `http://${config.host}:${config.port}`, createLog(config), {
    databaseAdapter: new MongoStorageAdapter({ uri, mongoOptions: { maxTimeMS: 30_000 } }),
    emailAdapter: { sendMail: async () => {} },
    definitions: classDefinitions,
    cloud: () => {},
    gate: (_req, _res, next) => next(),
  }) as never,
)
await parse.start()
const app = express()
app.use('/1', parse.app)
app.listen(config.port, config.host, () => process.send?.('ready'))
process.once('disconnect', () => process.exit(0))
