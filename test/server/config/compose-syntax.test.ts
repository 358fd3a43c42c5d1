import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Script } from 'node:vm'
import { Ajv } from 'ajv'
import { type Document, isCollection, parseDocument, visit } from 'yaml'

const COMPOSE_FILE = 'docker-compose.yml'

/** @param version Compose implementations in Python read YAML 1.1; those in Go a mixture of 1.1 and 1.2 */
const read = (version: '1.1' | '1.2'): Document.Parsed =>
  parseDocument(readFileSync(COMPOSE_FILE, 'utf8'), { version, strict: true, uniqueKeys: true, merge: true })

/** The JSON schema of the Compose specification, as included in dclint. */
function composeSchema(): object {
  const path = new URL('schemas/compose.schema.json', import.meta.resolve('dclint/package.json'))
  // The schema names its meta schema with https, but ajv knows only the http address.
  const { $schema, ...schema } = JSON.parse(readFileSync(path, 'utf8'))
  return schema
}

/** Plain scalars within `[]` or `{}` with a character that YAML readers take for syntax. */
function ambiguousScalars(document: Document.Parsed): string[] {
  const ambiguous: string[] = []
  visit(document, {
    Scalar(_key, { type, source = '' }, path) {
      const isInFlow = path.some((node) => isCollection(node) && node.flow)
      if (type === 'PLAIN' && isInFlow && /[?:,[\]{}]/.test(source)) ambiguous.push(source)
    },
  })
  return ambiguous
}

describe('the syntax of docker-compose.yml', () => {
  for (const version of ['1.1', '1.2'] as const)
    it(`is valid YAML ${version}`, () => {
      const { errors, warnings } = read(version)
      assert.deepEqual([errors, warnings], [[], []])
    })

  it('means the same in YAML 1.1 and 1.2', () => {
    assert.deepEqual(read('1.1').toJS(), read('1.2').toJS())
  })

  it('quotes texts within brackets that contain syntax characters', () => {
    assert.deepEqual(ambiguousScalars(read('1.2')), [])
  })

  it('matches the schema of the Compose specification', () => {
    // The formats are Compose's own (duration, ports).
    const validate = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(
      composeSchema(),
    )
    validate(read('1.2').toJS())
    assert.deepEqual(validate.errors ?? [], [])
  })

  it('has health checks in Node that are valid JavaScript', () => {
    const { services } = read('1.2').toJS() as {
      services: Record<string, { healthcheck?: { test?: string[] } }>
    }
    const scripts = Object.values(services)
      .map(({ healthcheck }) => healthcheck?.test ?? [])
      .filter(([, command]) => command === 'node')
      .map(([, , , script = '']) => script)
    assert.equal(scripts.length, 2)
    for (const script of scripts) assert.doesNotThrow(() => new Script(script))
  })
})
