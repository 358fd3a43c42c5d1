import type { ClientSession } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { type Database, documentCollection } from '../../store/documents/database.ts'
import { CONTAINER_CLASSES, CONTAINER_ID_FIELDS, type ContainerClass } from './cascading-deletion.ts'

/** A deleted care plan, goal, task or event to which a record belongs. */
export interface DeletedParent {
  type: ContainerClass
  id: string
}

type ParentIdFields = Readonly<Record<string, unknown>>

/** Finds the deleted parent of each record: the outermost one, since it returns first. undefined: it has none. */
export async function findDeletedParents(
  database: Pick<Database, 'db'>,
  records: readonly ParentIdFields[],
  session?: ClientSession,
): Promise<(DeletedParent | undefined)[]> {
  const deletedParents: (DeletedParent | undefined)[] = records.map(() => undefined)
  for (const type of CONTAINER_CLASSES) {
    const idOf = (record: ParentIdFields) => record[CONTAINER_ID_FIELDS[type]]
    const ids = new Set(records.map(idOf).filter((id) => typeof id === 'string'))
    if (ids.size === 0) continue
    const presentParents = documentCollection(database, type).find(
      { _id: { $in: [...ids] } },
      { projection: { _id: 1 }, ...(session && { session }) },
    )
    for (const { _id } of await presentParents.toArray()) ids.delete(_id)
    for (const [i, record] of records.entries()) {
      const id = idOf(record)
      if (typeof id === 'string' && ids.has(id)) deletedParents[i] ??= { type, id }
    }
  }
  return deletedParents
}

const NOUNS: Readonly<Record<ContainerClass, string>> = {
  CarePlan: 'care plan',
  Goal: 'goal',
  Task: 'task',
  Event: 'event',
}

/** @throws Conflict for a record that belongs to a deleted one */
export async function requireNoDeletedParent(
  database: Pick<Database, 'db'>,
  record: ParentIdFields,
  session?: ClientSession,
): Promise<void> {
  const [parent] = await findDeletedParents(database, [record], session)
  if (!parent) return
  const noun = NOUNS[parent.type]
  throw new ServiceError('Conflict', {
    detail: `The ${noun} ${parent.id}, to which this record belongs, is deleted. Restore the ${noun} first.`,
  })
}
