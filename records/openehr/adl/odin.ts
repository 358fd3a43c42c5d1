import type { Scanner } from './scanner.ts'

/** What is told in angle brackets: a value (of a list the first), or members by their names. */
export type Odin = string | Members
export type Members = ReadonlyMap<string, Odin>

const NAME = /[a-z]\w*(?=\s*=)/iy
const KEY = /\[(?="|\d+\s*\])/y
const INTERVAL = /\|[^|\n]*\|/y
const CODE = /\[[^\][\n]*\]/y
const BARE = /[^\s<>"[\]|,;]+/y

/** `name = <…>` or `["key"] = <…>`, as many as there are. @throws TextFault */
export function readMembers(scanner: Scanner): Members {
  const members = new Map<string, Odin>()
  for (let name = nameIn(scanner); name !== undefined; name = nameIn(scanner)) {
    scanner.need(/=/y, '=')
    members.set(name, readOdin(scanner))
    scanner.take(/;/y)
  }
  return members
}

function nameIn(scanner: Scanner): string | undefined {
  if (scanner.take(KEY) === undefined) return scanner.take(NAME)
  const key = scanner.quoted('"') ?? scanner.need(/\d+/y, 'a key')
  scanner.need(/\]/y, ']')
  return key
}

/** @throws TextFault */
export function readOdin(scanner: Scanner): Odin {
  scanner.take(/\([\w<>, ]{1,100}\)/y)
  scanner.need(/</y, '<')
  return scanner.nested(() => {
    const members = readMembers(scanner)
    const values: string[] = []
    if (members.size === 0)
      for (let value = valueIn(scanner); value !== undefined; value = valueIn(scanner)) {
        values.push(value)
        scanner.take(/[,;]/y)
      }
    scanner.need(/>/y, members.size > 0 ? 'a name or >' : 'a value or >')
    return members.size > 0 ? members : (values[0] ?? '')
  })
}

const valueIn = (scanner: Scanner): string | undefined =>
  scanner.quoted('"') ?? scanner.take(INTERVAL) ?? scanner.take(CODE) ?? scanner.take(BARE)

/** What is told below some names; undefined: nothing. */
export const toldAt = (odin: Odin | undefined, ...path: string[]): Odin | undefined =>
  path.reduce<Odin | undefined>((value, name) => membersOf(value)?.get(name), odin)

export const membersOf = (odin: Odin | undefined): Members | undefined =>
  typeof odin === 'string' ? undefined : odin
