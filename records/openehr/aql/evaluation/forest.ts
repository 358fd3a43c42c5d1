import type { RmObject } from '../../rm/canonical.ts'
import { isObject } from '../terms/terms.ts'

/** An object of a composition, of an EHR_STATUS, or what holds them. */
export interface Node {
  object: RmObject
  /** Where its descendants end in the forest: they come right behind it. */
  end: number
  /** The id of the record that it is a part of; undefined: of the EHR itself. */
  record: string | undefined
  /** Whether it is a part of a latest version. */
  latest: boolean
}

/** One version of a composition, or of an EHR_STATUS. */
export interface Document {
  record: string
  /** Missing: the version says that it is deleted. */
  object?: RmObject | undefined
  latest: boolean
  /** The ORIGINAL_VERSION around it, where one is asked for. */
  version?: RmObject | undefined
}

/** What of one EHR a query is evaluated on: the EHR first, then each object before those in it. */
export interface Forest {
  ehrId: string
  nodes: Node[]
}

export function forestOf(ehr: RmObject, ehrId: string, documents: readonly Document[]): Forest {
  const root: Node = { object: ehr, end: 0, record: undefined, latest: true }
  const nodes = [root]
  for (const { record, object, latest, version } of documents) {
    const holder = version && { object: version, end: 0, record, latest }
    if (holder) nodes.push(holder)
    if (object) addTree(nodes, object, record, latest)
    if (holder) holder.end = nodes.length
  }
  root.end = nodes.length
  return { ehrId, nodes }
}

function addTree(nodes: Node[], object: RmObject, record: string, latest: boolean): void {
  const node = { object, end: 0, record, latest }
  nodes.push(node)
  for (const name in object) {
    const value = object[name]
    if (Array.isArray(value)) {
      for (const member of value) if (isObject(member)) addTree(nodes, member, record, latest)
    } else if (isObject(value)) addTree(nodes, value, record, latest)
  }
  node.end = nodes.length
}
