import { isDeepStrictEqual } from 'node:util'
import Parse from 'parse/node'
import { type ClassKind, resolveRules, type Values } from '../../records/ehr-records/kind.ts'
import { batchedEhrFinder, type FindEhrId } from '../../records/ehr-records/parents/parents.ts'
import { defaultsOf, initialStatusOf } from '../../records/ehr-records/validation/record-bodies.ts'
import { derivedFieldNames } from '../../records/ehr-records/validation/record-validation.ts'
import { CONTAINER_ID_FIELDS } from '../../records/ehrs/deletion/cascading-deletion.ts'
import { CLASS_NAMES, type ClassName, classKindOf, containedCollections } from '../../records/kinds.ts'
import { documentCollection } from '../../records/store/documents/database.ts'
import { newId } from '../../records/store/documents/ids.ts'
import { requireExpectedVersion } from '../../records/store/write-decider.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { fromClassForm, toClassForm } from '../../schemas/forms/class-form.ts'
import { lookUp } from '../../schemas/validation/look-up.ts'
import { withoutInvalidProperties } from '../../schemas/validation/violations.ts'
import type { ObjectWriteRequest } from '../parse-server/adapter/request/request-database.ts'
import { rejectFaults, translateOutage, translateServiceErrors } from '../request/parse-errors.ts'
import { aclViolations, PARSE_PROPERTIES } from './objects/own-properties.ts'

// The open test environment has no sessions and validates nothing. Objects are otherwise completed as in the main
// service: docs/decisions/open-environment.md.

interface OpenContext {
  write?: ObjectWriteRequest
  /** Id of an object that the service creates. */
  newId?: string
}

/** Registers the triggers of the open test environment. */
export function registerOpenTriggers(parse: typeof Parse, storeContext: StoreContext): void {
  const findEhrId = batchedEhrFinder(storeContext)
  for (const name of CLASS_NAMES) {
    parse.Cloud.beforeSave(name, (request) =>
      translateOutage(completeObject(storeContext, findEhrId, classKindOf(name), request)),
    )
    parse.Cloud.beforeDelete(name, async ({ object, context }) => {
      await translateOutage(requireExpected(object, context))
      await translateOutage(deleteContents(storeContext, name, object.id ?? ''))
    })
  }
  registerAccountTriggers(parse)
}

/** Every account has an EHR, which its sign-up creates. */
function registerAccountTriggers({ Cloud, Object: ParseObject }: typeof Parse): void {
  Cloud.beforeSave('_User', ({ object, original }) => {
    refuseOtherAcl(object, original)
    if (original) object.increment('version')
    else object.set({ ehrId: newId(), version: 1 })
  })
  Cloud.afterSave('_User', async ({ object, original }) => {
    if (original) return
    const context: OpenContext = { newId: object.get('ehrId') }
    const ehr = new ParseObject('Ehr', { subjectId: object.id ?? '' })
    await ehr.save(null, { useMasterKey: true, context } as Parse.Object.SaveOptions)
  })
}

/** Fills in and derives what follows from the valid properties of an object. */
async function completeObject(
  storeContext: StoreContext,
  findEhrId: FindEhrId,
  plain: ClassKind,
  { object, original, context = {} }: Parse.Cloud.BeforeSaveRequest,
): Promise<void> {
  refuseOtherAcl(object, original)
  if (original) {
    await requireExpected(original, context)
    if (object.dirty('version')) object.revert('version')
    if (!keepChangedFields(object, original, defaultsOf(plain.fields))) return
    const version: unknown = original.get('version')
    object.set('version', typeof version === 'number' ? version + 1 : 1)
  } else await fillIn(findEhrId, plain, object, context as OpenContext)
  const classForm = classFormOf(object)
  const values = fromClassForm(
    plain.fields,
    withoutInvalidProperties(classForm, plain.checks.create(classForm)),
  )
  const { fields, rules } = await resolveRules(storeContext, plain, {
    ...values,
    typeVersion: classForm.typeVersion,
  })
  const derivedValues = toClassForm(fields, rules.derived?.(values) ?? {})
  // A rule also calculates properties that a client may send otherwise, such as a body-mass index.
  for (const name of new Set([...derivedFieldNames({ fields }), ...Object.keys(derivedValues)])) {
    if (original && rules.fixedDerived?.includes(name)) continue
    if (derivedValues[name] !== undefined) object.set(name, derivedValues[name])
    else if (original?.has(name)) object.unset(name)
  }
}

/**
 * Nobody could read an object with an ACL, since there are no sessions. Users have one, and may send it back as they
 * got it.
 */
function refuseOtherAcl(object: Parse.Object, original: Parse.Object | undefined): void {
  if (!object.dirtyKeys().includes('ACL')) return
  const [acl, current] = [object, original].map((one) => one?.getACL()?.toJSON())
  rejectFaults({ missing: [], violations: aclViolations(acl ?? {}, current) })
}

const encodeValue = (Parse as unknown as { _encode(value: unknown): unknown })._encode

/** The attributes that clients see, in class form; null counts as absent. */
const classFormOf = (object: Parse.Object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(object.attributes)
      .filter(([name, value]) => !PARSE_PROPERTIES.has(name) && value !== null && value !== undefined)
      .map(([name, value]) => [name, encodeValue(value)]),
  )

/** Drops values that an update repeats; null removes a field or sets its default. @returns whether anything changes */
function keepChangedFields(object: Parse.Object, original: Parse.Object, defaults: Values): boolean {
  const originalValues = classFormOf(original)
  for (const name of object.dirtyKeys()) {
    if (object.get(name) === null) object.unset(name)
    if (!object.has(name) && name in defaults) object.set(name, defaults[name])
    const isPart = name.includes('.')
    if (!isPart && isDeepStrictEqual(encodeValue(object.get(name)), originalValues[name])) object.revert(name)
  }
  return object.dirtyKeys().some((name) => !PARSE_PROPERTIES.has(name))
}

/** The values of a new object that its sender leaves out. */
async function fillIn(
  findEhrId: FindEhrId,
  { fields, parentIds }: ClassKind,
  object: Parse.Object,
  { newId: id }: OpenContext,
): Promise<void> {
  if (id !== undefined) object.id = id
  for (const name of object.dirtyKeys()) if (object.get(name) === null) object.revert(name)
  const initial = {
    ...defaultsOf(fields),
    ...initialStatusOf(fields),
    ...('pending' in fields && { pending: false }),
  }
  for (const [name, value] of Object.entries(initial)) if (!object.has(name)) object.set(name, value)
  object.set('version', 1)
  const carePlanId: unknown = object.get('carePlanId')
  if (!('ehrId' in parentIds) || object.has('ehrId') || typeof carePlanId !== 'string') return
  const ehrId = await findEhrId(carePlanId)
  if (ehrId !== undefined) object.set('ehrId', ehrId)
}

async function requireExpected(object: Parse.Object, context: unknown): Promise<void> {
  const { write } = (context ?? {}) as OpenContext
  await translateServiceErrors(
    async () => requireExpectedVersion(write?.expected, Number(object.get('version'))),
    write?.tellVersion,
  )
}

/** Deletes the objects in a deleted EHR, care plan, goal, task or event. */
async function deleteContents(context: StoreContext, name: ClassName, id: string): Promise<void> {
  const field = lookUp({ Ehr: 'ehrId', ...CONTAINER_ID_FIELDS }, name)
  if (field === undefined) return
  for (const collection of lookUp<readonly string[]>(containedCollections, name) ?? [])
    await documentCollection(context, collection).deleteMany({ [field]: id })
}
