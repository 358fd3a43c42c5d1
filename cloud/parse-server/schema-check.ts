import { isDeepStrictEqual } from 'node:util'

interface ClassShape {
  className: string
  fields?: Record<string, { type: string; targetClass?: string }>
  classLevelPermissions?: Record<string, unknown>
}

interface DatabaseController {
  loadSchema(options: { clearCache: boolean }): Promise<{ getAllClasses(): Promise<ClassShape[]> }>
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

function differences(wanted: ClassShape, found: ClassShape | undefined): string[] {
  if (!found) return [`${wanted.className} is missing`]
  const fields = Object.entries(wanted.fields ?? {})
    .filter(([name, { type, targetClass }]) => {
      const field = found.fields?.[name]
      return field?.type !== type || field.targetClass !== targetClass
    })
    .map(([name]) => `${wanted.className}.${name}`)
  const permissions = Object.entries(wanted.classLevelPermissions ?? {})
    .filter(
      ([operation, allowed]) =>
        operation !== 'addField' && !isDeepStrictEqual(found.classLevelPermissions?.[operation], allowed),
    )
    .map(([operation]) => `${wanted.className} permission ${operation}`)
  return [...fields, ...permissions]
}
