import type { RmObject } from '../../rm/canonical-json.ts'
import { isRmObject } from '../terms/terms.ts'

/** A node: an object of a composition or EHR_STATUS, or one that contains them. */
export interface TreeNode {
  object: RmObject
  /** Index after the last descendant; descendants directly follow the node. */
  end: number
  /** The id of the record that the node is part of; undefined: of the EHR itself. */
  record: string | undefined
  /** Whether the node is part of a latest version. */
  latest: boolean
}

/** One version of a composition or of an EHR_STATUS. */
export interface DocumentVersion {
  record: string
  /** Missing if the version marks the composition as deleted. */
  object?: RmObject | undefined
  latest: boolean
  /** The enclosing ORIGINAL_VERSION, if the query asks for it. */
  version?: RmObject | undefined
}

/** The part of one EHR on which a query is evaluated: nodes in document order, the EHR first. */
export interface EhrTree {
  ehrId: string
  nodes: TreeNode[]
}

export function buildEhrTree(ehr: RmObject, ehrId: string, documents: readonly DocumentVersion[]): EhrTree {
  const root: TreeNode = { object: ehr, end: 0, record: undefined, latest: true }
  const nodes = [root]
  for (const { record, object, latest, version } of documents) {
    const versionNode = version && { object: version, end: 0, record, latest }
    if (versionNode) nodes.push(versionNode)
    if (object) addTree(nodes, object, record, latest)
    if (versionNode) versionNode.end = nodes.length
  }
  root.end = nodes.length
  return { ehrId, nodes }
}

function addTree(nodes: TreeNode[], object: RmObject, record: string, latest: boolean): void {
  const node = { object, end: 0, record, latest }
  nodes.push(node)
  for (const name in object) {
    const value = object[name]
    if (Array.isArray(value)) {
      for (const member of value) if (isRmObject(member)) addTree(nodes, member, record, latest)
    } else if (isRmObject(value)) addTree(nodes, value, record, latest)
  }
  node.end = nodes.length
}
