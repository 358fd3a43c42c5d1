import type { AdlScanner } from './scanner.ts'

/** The content of angle brackets: a value (of a list the first one), or members by name. */
export type OdinValue = string | OdinMembers
export type OdinMembers = ReadonlyMap<string, OdinValue>

const MEMBER_NAME = /[a-z]\w*(?=\s*=)/iy
const MEMBER_KEY = /\[(?="|\d+\s*\])/y
const INTERVAL_VALUE = /\|[^|\n]*\|/y
const CODE_VALUE = /\[[^\][\n]*\]/y
const BARE_VALUE = /[^\s<>"[\]|,;]+/y

/** Reads any number of `name = <…>` or `["key"] = <…>`. @throws TextSyntaxError */
export function readMembers(scanner: AdlScanner): OdinMembers {
  const members = new Map<string, OdinValue>()
  for (let name = readName(scanner); name !== undefined; name = readName(scanner)) {
    scanner.expect(/=/y, '=')
    members.set(name, readOdin(scanner))
    scanner.take(/;/y)
  }
  return members
}

function readName(scanner: AdlScanner): string | undefined {
  if (scanner.take(MEMBER_KEY) === undefined) return scanner.take(MEMBER_NAME)
  const key = scanner.takeQuoted('"') ?? scanner.expect(/\d+/y, 'a key')
  scanner.expect(/\]/y, ']')
  return key
}

/** @throws TextSyntaxError */
export function readOdin(scanner: AdlScanner): OdinValue {
  scanner.take(/\([\w<>, ]{1,100}\)/y)
  scanner.expect(/</y, '<')
  return scanner.readNested(() => {
    const members = readMembers(scanner)
    const values: string[] = []
    if (members.size === 0)
      for (let value = readValue(scanner); value !== undefined; value = readValue(scanner)) {
        values.push(value)
        scanner.take(/[,;]/y)
      }
    scanner.expect(/>/y, members.size > 0 ? 'a name or >' : 'a value or >')
    return members.size > 0 ? members : (values[0] ?? '')
  })
}

const readValue = (scanner: AdlScanner): string | undefined =>
  scanner.takeQuoted('"') ??
  scanner.take(INTERVAL_VALUE) ??
  scanner.take(CODE_VALUE) ??
  scanner.take(BARE_VALUE)

/** The value below a path of names; undefined if there is none. */
export const odinAt = (odin: OdinValue | undefined, ...path: string[]): OdinValue | undefined =>
  path.reduce<OdinValue | undefined>((value, name) => odinMembers(value)?.get(name), odin)

export const odinMembers = (odin: OdinValue | undefined): OdinMembers | undefined =>
  typeof odin === 'string' ? undefined : odin
