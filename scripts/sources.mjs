/** Reads the syntax of source files, for checks that a compiler does not make. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/** The folders of each program: the service, the client, the console. */
export const PROGRAMS = [
  ['cloud', 'fhir', 'packages', 'path-api', 'openehr', 'records', 'schemas', 'server'],
  ['client'],
  ['console'],
]

export const pathsIn = (folders) =>
  folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .map((path) => join(folder, path))
      .filter((path) => /\.tsx?$/.test(path) && !/(^|\/)(dist|\.build|generated|node_modules)\//.test(path)),
  )

export const isTest = (path) => /(^|\/)test\//.test(path)
export const parse = (path) =>
  ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true)

export function visit(node, look) {
  look(node)
  ts.forEachChild(node, (child) => visit(child, look))
}
