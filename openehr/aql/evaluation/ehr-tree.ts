import { ServiceError } from '../../../schemas/errors.ts'
import { valueAt } from '../../compositions/read-composition.ts'
import { isRmObject, type RmObject } from '../../rm/canonical-json.ts'

/** A node: an object of a composition, EHR_STATUS or directory, or one that contains them. */
export interface TreeNode {
  object: RmObject
  /** Index after the last descendant; descendants directly follow the node. */
  end: number
  /** The id of the record that the node is part of; undefined: of the EHR itself. */
  record: string | undefined
  /** Whether the node is part of a latest version. */
  latest: boolean
  /** Whether it is there once more because a folder refers to it; only classes within FOLDER match it. */
  isReferred: boolean
}

/** One version of a composition, of an EHR_STATUS or of a directory. */
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

/**
 * @param folders the versions of the directory; their folders contain the documents to which their items refer
 * @throws DeadlineExceeded when the folders refer to too much
 */
export function buildEhrTree(
  ehr: RmObject,
  ehrId: string,
  documents: readonly DocumentVersion[],
  folders: readonly DocumentVersion[] = [],
): EhrTree {
  const root: TreeNode = { object: ehr, end: 0, record: undefined, latest: true, isReferred: false }
  const nodes = [root]
  for (const one of documents) addDocument(nodes, one, false)
  const referredDocuments = folders.length > 0 ? documentsByRecord(documents) : undefined
  for (const one of folders) addDocument(nodes, one, false, referredDocuments)
  root.end = nodes.length
  return { ehrId, nodes }
}

/** The documents to which a folder may refer, by record. */
type ReferredDocuments = ReadonlyMap<string, readonly DocumentVersion[]>

function documentsByRecord(documents: readonly DocumentVersion[]): ReferredDocuments {
  const byRecord = new Map<string, DocumentVersion[]>()
  for (const one of documents) byRecord.set(one.record, [...(byRecord.get(one.record) ?? []), one])
  return byRecord
}

function addDocument(
  nodes: TreeNode[],
  { record, object, latest, version }: DocumentVersion,
  isReferred: boolean,
  referredDocuments?: ReferredDocuments,
): void {
  const nodeOrigin = { record, latest, isReferred }
  const versionNode = version && { object: version, end: 0, ...nodeOrigin }
  if (versionNode) nodes.push(versionNode)
  if (object) addTree(nodes, object, nodeOrigin, referredDocuments)
  if (versionNode) versionNode.end = nodes.length
}

function addTree(
  nodes: TreeNode[],
  object: RmObject,
  nodeOrigin: Omit<TreeNode, 'object' | 'end'>,
  referredDocuments?: ReferredDocuments,
): void {
  const node = { object, end: 0, ...nodeOrigin }
  nodes.push(node)
  for (const name in object) {
    const value = object[name]
    if (Array.isArray(value)) {
      for (const member of value)
        if (isRmObject(member)) addTree(nodes, member, nodeOrigin, referredDocuments)
    } else if (isRmObject(value)) addTree(nodes, value, nodeOrigin, referredDocuments)
  }
  if (referredDocuments && object._type === 'FOLDER') addReferred(nodes, object, referredDocuments)
  node.end = nodes.length
}

/** Maximum number of nodes with those that folders refer to. */
const MAX_NODES = 1_000_000

function addReferred(nodes: TreeNode[], { items }: RmObject, referredDocuments: ReferredDocuments): void {
  const ids = [items ?? []].flat().map((item) => String(valueAt(item, 'id', 'value')).split('::')[0] ?? '')
  for (const id of new Set(ids))
    for (const document of referredDocuments.get(id) ?? referredDocuments.get(id.toLowerCase()) ?? []) {
      addDocument(nodes, document, true)
      if (nodes.length > MAX_NODES)
        throw new ServiceError('DeadlineExceeded', {
          detail: 'The folders of an EHR refer to too many compositions for one query.',
        })
    }
}
