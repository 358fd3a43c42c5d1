import { isDeepStrictEqual } from 'node:util'

interface ClassField {
  type: string
  defaultValue?: unknown
}

interface ClassSchema {
  className: string
  fields?: Record<string, ClassField>
  classLevelPermissions?: Record<string, unknown>
}

interface SchemaController {
  getAllClasses(): Promise<ClassSchema[]>
  addClassIfNotExists(className: string, ...parts: unknown[]): Promise<unknown>
}

interface DatabaseController {
  loadSchema(options?: { clearCache: boolean }): Promise<SchemaController>
}

interface NewClass {
  className: string
  _fields: unknown
  _clp: unknown
  _indexes: unknown
}

export interface SchemaMigration {
  config: { database: DatabaseController }
  saveSchemaToDB(schema: NewClass): Promise<void>
  updateSchema(definition: ClassSchema, storedSchema: ClassSchema): Promise<void>
}

/** Parse writes and reads each class again even without a change: most queries of a start. */
export function skipUnchangedClasses(migration: SchemaMigration): void {
  const { updateSchema } = migration
  migration.updateSchema = async function (definition, storedSchema) {
    if (describeDifferences(definition, storedSchema).length > 0)
      await updateSchema.call(this, definition, storedSchema)
  }
}

/** Parse reads all classes before and after it creates each of them: most queries of the first start. */
export function createClassesWithoutReading(migration: SchemaMigration): void {
  const { saveSchemaToDB } = migration
  migration.saveSchemaToDB = async function (schema) {
    const controller = await this.config.database.loadSchema()
    const creation: SchemaController = Object.create(controller, { reloadData: { value: async () => {} } })
    const { className, _fields, _clp, _indexes } = schema
    try {
      await creation.addClassIfNotExists(className, _fields, _clp, _indexes)
    } catch {
      // Another instance may have created it. Parse reads all classes, and tries the migration again.
      await saveSchemaToDB.call(this, schema)
    }
  }
}

/** Parse only logs a failed migration. @throws Error naming the differences: the service must not run with them */
export async function verifySchema(
  database: DatabaseController,
  definitions: readonly object[],
): Promise<void> {
  const schema = await database.loadSchema({ clearCache: true })
  const classes = new Map((await schema.getAllClasses()).map((shape) => [shape.className, shape]))
  const faults = (definitions as readonly ClassSchema[]).flatMap((definition) =>
    describeDifferences(definition, classes.get(definition.className)),
  )
  if (faults.length > 0)
    throw new Error(`The class definitions in the database could not be updated: ${faults.join('; ')}`)
}

const comparedProperties = (field?: ClassField) => [field?.type, field?.defaultValue]

function describeDifferences(definition: ClassSchema, storedSchema: ClassSchema | undefined): string[] {
  if (!storedSchema) return [`${definition.className} is missing`]
  const fields = Object.entries(definition.fields ?? {}).flatMap(([name, field]) =>
    isDeepStrictEqual(comparedProperties(field), comparedProperties(storedSchema.fields?.[name]))
      ? []
      : [`${definition.className}.${name}`],
  )
  const { addField: _, ...operations } = definition.classLevelPermissions ?? {}
  const permissions = Object.entries(operations).flatMap(([operation, permission]) =>
    isDeepStrictEqual(storedSchema.classLevelPermissions?.[operation], permission)
      ? []
      : [`permission ${operation} of ${definition.className}`],
  )
  return [...fields, ...permissions]
}
