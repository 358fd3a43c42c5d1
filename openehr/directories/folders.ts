import { createHash } from 'node:crypto'
import { ServiceError } from '../../schemas/errors.ts'
import { valueAt } from '../compositions/read-composition.ts'
import { type RmObject, readCanonicalJson } from '../rm/canonical-json.ts'

const foldersIn = ({ folders = [] }: RmObject): RmObject[] => folders as RmObject[]

const nameOf = (folder: RmObject): string => String(valueAt(folder, 'name', 'value'))

/** Reads a FOLDER. @throws InvalidInput */
export function readFolder(input: unknown): RmObject {
  const { object, violations } = readCanonicalJson(input, 'FOLDER')
  if (object === undefined || violations.length > 0) throw new ServiceError('InvalidInput', { violations })
  return object
}

/** The folder at a path of names, such as `/emergency/episode`. @throws NotFound */
export function folderAt(root: RmObject, path: string): RmObject {
  let folder: RmObject | undefined = root
  for (const name of path.split('/').filter(Boolean))
    folder = folder && foldersIn(folder).find((one) => nameOf(one) === name)
  if (!folder) throw new ServiceError('NotFound', { detail: 'The directory has no folder at this path.' })
  return folder
}

/**
 * Gives each folder below the root a uid, unless it has one. It follows from its path, so it stays the same
 * while the names do.
 */
export function withFolderUids(folder: RmObject, seed: string): RmObject {
  if (folder.folders === undefined) return folder
  const counts = new Map<string, number>()
  const folders = foldersIn(folder).map((one) => {
    const name = nameOf(one)
    const same = counts.get(name) ?? 0
    counts.set(name, same + 1)
    const path = `${seed}/${name}${same || ''}`
    return withFolderUids(
      { ...one, uid: one.uid ?? { _type: 'HIER_OBJECT_ID', value: folderUuidFrom(path) } },
      path,
    )
  })
  return { ...folder, folders }
}

/** A UUID that follows from a text. It differs from that of `uuidFromText`: the uids of stored folders must stay. */
const folderUuidFrom = (text: string): string =>
  createHash('sha256')
    .update(text)
    .digest('hex')
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5')
