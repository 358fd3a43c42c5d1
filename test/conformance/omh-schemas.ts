import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { Context } from 'mocha'
import { listCorpusFiles, readCorpusFile } from '../harness/corpus.ts'

const HOME = {
  omh: 'https://w3id.org/openmhealth/schemas/omh/',
  ieee: 'https://w3id.org/ieee/ieee-1752-schema/',
} as const

export type Namespace = keyof typeof HOME

/**
 * The official schemas, loaded as the corpus demands: the files mix two drafts, and their ids lack the
 * version.
 * @returns a function that validates by `omh`, `blood-pressure`, `4.0`
 */
export function omhSchemas(test: Context) {
  const ajv = new Ajv({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addFormat('iri', (text: string) => URL.canParse(text))
  for (const file of listCorpusFiles(test, 'omh/schema')) {
    const [, , namespace, name] = file.split('/') as [string, string, Namespace, string | undefined]
    if (name === undefined) continue
    const { $schema: _, $id: __, id: ___, ...schema } = readCorpusFile<Record<string, unknown>>(test, file)
    ajv.addSchema({ ...schema, $id: HOME[namespace] + name })
  }
  for (const [alias, name] of Object.entries(readCorpusFile<object>(test, 'omh/schema/omh-aliases.json')))
    ajv.addSchema({ $id: HOME.omh + alias, $ref: HOME.omh + name })
  return (namespace: Namespace, name: string, version: string): ValidateFunction => {
    const validate = ajv.getSchema(`${HOME[namespace]}${name}-${version}.json`)
    if (!validate) throw new Error(`There is no schema ${namespace}/${name}-${version}.`)
    return validate as ValidateFunction
  }
}
