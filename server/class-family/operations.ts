import { code, type ParseRequest, Refusal } from './parse-request.ts'

/** The type of field that an atomic change works on; Delete works on any. */
const worksOn: Record<string, string> = {
  Increment: 'Number',
  Add: 'Array',
  AddUnique: 'Array',
  Remove: 'Array',
  AddRelation: 'Relation',
  RemoveRelation: 'Relation',
  Batch: 'Relation',
}

/**
 * An atomic change of a field of another type would fail in the midst of Parse, as a fault of the server.
 * Of what lies inside an object field nobody knows the type: there only Delete is possible.
 * @throws Refusal 400/111
 */
export async function checkOperations(req: ParseRequest, className: string, body: object): Promise<void> {
  const changes = Object.entries(body as Record<string, { __op?: string } | null>).flatMap(
    ([path, value]) => {
      const type = worksOn[value?.__op ?? '']
      return type ? [{ path, type }] : []
    },
  )
  if (changes.length === 0) return
  const schema = await req.config.database.loadSchema()
  const { fields } = await schema
    .getOneSchema(className)
    .catch(() => ({ fields: {} as Record<string, never> }))
  for (const { path, type } of changes) {
    const known = path.includes('.') ? 'Object' : fields[path]?.type
    if (known !== undefined && known !== type)
      throw new Refusal(400, code.incorrectType, `${path} does not take that operation: it is no ${type}`)
  }
}
