import { isDeepStrictEqual } from 'node:util'

interface Field {
  type: string
  targetClass?: string
  defaultValue?: unknown
}

interface ClassShape {
  className: string
  fields?: Record<string, Field>
  classLevelPermissions?: Record<string, unknown>
}

/** Parse Server's way to bring a class up to date. */
export interface Migration {
  updateSchema(wanted: ClassShape, found: ClassShape): Promise<void>
}

interface DatabaseController {
  loadSchema(options: { clearCache: boolean }): Promise<{ getAllClasses(): Promise<ClassShape[]> }>
}

/** For each class Parse writes, and then reads all classes again, though nothing has changed: most of a start's queries. */
export function migrateChanged(migration: Migration): void {
  const { updateSchema } = migration
  migration.updateSchema = async function (wanted, found) {
    if (differences(wanted, found).length > 0) await updateSchema.call(this, wanted, found)
  }
}

/**
 * Parse only logs a failed migration. A service whose classes lack a field or a permission must not run.
 * @throws Error naming what is not as defined
 */
export async function verifySchema(
  database: DatabaseController,
  definitions: readonly object[],
): Promise<void> {
  const schema = await database.loadSchema({ clearCache: true })
  const classes = new Map((await schema.getAllClasses()).map((shape) => [shape.className, shape]))
  const faults = (definitions as readonly ClassShape[]).flatMap((wanted) =>
    differences(wanted, classes.get(wanted.className)),
  )
  if (faults.length > 0)
    throw new Error(`The classes in the database could not be brought up to date: ${faults.join('; ')}`)
}

const traits = (field?: Field) => [field?.type, field?.targetClass, field?.defaultValue]

function differences(wanted: ClassShape, found: ClassShape | undefined): string[] {
  if (!found) return [`${wanted.className} is missing`]
  const fields = Object.entries(wanted.fields ?? {})
    .filter(([name, field]) => !isDeepStrictEqual(traits(field), traits(found.fields?.[name])))
    .map(([name]) => `${wanted.className}.${name}`)
  const permissions = Object.entries(wanted.classLevelPermissions ?? {})
    .filter(
      ([operation, allowed]) =>
        operation !== 'addField' && !isDeepStrictEqual(found.classLevelPermissions?.[operation], allowed),
    )
    .map(([operation]) => `${wanted.className} permission ${operation}`)
  return [...fields, ...permissions]
}
