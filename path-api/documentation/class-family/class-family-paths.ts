import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import { CLASS_NAMES, classKindOf, classKinds } from '../../../records/kinds.ts'
import {
  Done,
  Helper,
  HelperInvitation,
  HelperList,
  HelperListParams,
  HelperSession,
  OtherUserParams,
} from '../../../schemas/accounts/helper.ts'
import { closedObject, withArticle } from '../../../schemas/common.ts'
import { HandleAlertParams } from '../../../schemas/events/alert-handling.ts'
import {
  AlertRulesParams,
  SaveAlertRulesParams,
  SavedAlertRules,
} from '../../../schemas/events/alert-rules.ts'
import { AcqParams, AcqResult } from '../../../schemas/measurements/acq.ts'
import {
  BloodPressureConditionParams,
  BloodPressureConditionResult,
} from '../../../schemas/measurements/blood-pressure-condition.ts'
import { BmiParams, BmiResult } from '../../../schemas/measurements/bmi.ts'
import {
  Colleagues,
  EndHandoverParams,
  HandoverBody,
  HandoverList,
  HandoverListParams,
  HandoverResource,
  NoParams,
} from '../../../schemas/worklist/handover.ts'
import { PatientCard, PatientParams } from '../../../schemas/worklist/patient-card.ts'
import { Worklist, WorklistParams } from '../../../schemas/worklist/worklist-entry.ts'
import type { Json, SchemaCollector } from '../schema-collector.ts'
import { describeAccountPaths } from './class-accounts.ts'
import {
  type ClassOperation,
  createDescribeOperation,
  createErrorResponses,
  type DescribeOperation,
  ObjectCreated,
  ObjectRemoved,
  ObjectUpdated,
} from './class-operation.ts'
import { describeListParameters, describeObjectParameters } from './list-parameters.ts'

const createPathParameter = (name: string, description: string, schema: Json) => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string', ...schema },
})

const CLASS_FAMILY_PARAMETERS: Record<string, Json> = {
  objectId: createPathParameter('objectId', 'Object id', { examples: ['m4RtYu78Io'] }),
}
const CLASS_NAME_PARAMETER = createPathParameter(
  'className',
  'Name of the class; the first object creates the class',
  {
    pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$',
    examples: ['BloodPressure'],
  },
)
const referToParameter = (name: string): Json => ({ $ref: `#/components/parameters/${name}` })

/**
 * Describes the paths of the class family with their shared responses and parameters.
 * @param open describes the open test environment: no sessions, and any class that a client creates
 */
export function describeClassFamily(
  schemas: SchemaCollector,
  open: boolean,
): Record<'paths' | 'responses' | 'parameters', Json> {
  const operationObject = createDescribeOperation(schemas, open)
  const ofClasses = CLASS_NAMES.map((name) =>
    describeClassPaths(
      { path: name, name, forms: classKinds[name], readOnly: classKindOf(name).readOnly },
      withClassSource(operationObject, name),
    ),
  )
  const anyClass = {
    path: '{className}',
    name: 'Any',
    forms: { stored: AnyObject, create: AnyObject, update: AnyObject },
  }
  return {
    paths: Object.assign(
      describeAccountPaths(operationObject, open),
      ...(open
        ? [withClassName(describeClassPaths(anyClass, withClassSource(operationObject, 'Any')))]
        : ofClasses),
      describeFunctionPaths(operationObject, open ? CALCULATIONS : { ...CALCULATIONS, ...RECORD_FUNCTIONS }),
      describeBatchPath(operationObject),
    ),
    responses: createErrorResponses(schemas),
    parameters: open
      ? { ...CLASS_FAMILY_PARAMETERS, className: CLASS_NAME_PARAMETER }
      : CLASS_FAMILY_PARAMETERS,
  }
}

const AnyObject = Type.Object({}, { $id: 'AnyObject', additionalProperties: true, description: 'An object' })

const withClassName = (paths: Record<string, Json>): Record<string, Json> =>
  Object.fromEntries(
    Object.entries(paths).map(([path, pathItem]) => [
      path,
      {
        ...pathItem,
        parameters: [referToParameter('className'), ...((pathItem.parameters ?? []) as Json[])],
      },
    ]),
  )

/**
 * An object as Parse returns it: with its ACL and, after a trigger, its class name. `keys` and `excludeKeys` leave out any
 * property, so none is required.
 */
const toParseSchema = ({ required: _, ...schema }: TObject): TSchema =>
  schema.$id === AnyObject.$id
    ? AnyObject
    : {
        ...schema,
        properties: {
          ...schema.properties,
          ACL: Type.Optional(
            Type.Record(Type.String(), Type.Object({}, { additionalProperties: Type.Boolean() }), {
              description: 'Access control list: read and write permissions by user id or `role:<name>`',
              examples: [{ m4RtYu78Io: { read: true, write: true } }],
            }),
          ),
          className: Type.Optional(Type.String({ description: 'Name of the class' })),
        },
      }

const createResultsSchema = (name: string, item: TSchema) =>
  closedObject(`${name}Objects`, 'The matching objects, and their number if requested', {
    results: Type.Array(item, { description: 'Matching objects' }),
    count: Type.Optional(Type.Integer({ description: 'Total number of matching objects', examples: [1] })),
  })

interface DescribedFunction {
  takes: TSchema
  result: TSchema
  description: string
  extra?: true
}

const describeCalculation = (takes: TSchema, result: TSchema): DescribedFunction => ({
  takes,
  result,
  description: 'Calculates without storing anything.',
})

const CALCULATIONS: Readonly<Record<string, DescribedFunction>> = {
  bmi: describeCalculation(BmiParams, BmiResult),
  acq: describeCalculation(AcqParams, AcqResult),
  bloodPressureCondition: describeCalculation(BloodPressureConditionParams, BloodPressureConditionResult),
}

const describeHelperFunction = (
  operationId: string,
  takes: TSchema,
  result: TSchema,
): Record<string, DescribedFunction> => ({
  [operationId]: {
    takes,
    result,
    extra: true,
    description: `Does the same as the operation \`${operationId}\` of the path family.`,
  },
})

const HELPER_FUNCTIONS: Readonly<Record<string, DescribedFunction>> = {
  ...describeHelperFunction('listHelpers', HelperListParams, HelperList),
  ...describeHelperFunction('inviteHelper', HelperInvitation, Helper),
  ...describeHelperFunction('endHelper', OtherUserParams, Done),
  ...describeHelperFunction('listHelpedPersons', HelperListParams, HelperList),
  ...describeHelperFunction('acceptHelping', OtherUserParams, Helper),
  ...describeHelperFunction('endHelping', OtherUserParams, Done),
  actForPerson: {
    takes: OtherUserParams,
    result: HelperSession,
    extra: true,
    description:
      'Begins a session in which the caller acts for a person, with those rights that the agreement names. Send its `sessionToken` with each request for that person. `POST /logout` ends it.',
  },
}

const RECORD_FUNCTIONS: Readonly<Record<string, DescribedFunction>> = {
  ...HELPER_FUNCTIONS,
  worklist: {
    takes: WorklistParams,
    result: Worklist,
    description: 'Returns the same as `GET /worklist`.',
    extra: true,
  },
  patient: {
    takes: PatientParams,
    result: PatientCard,
    description: 'Returns the same as `GET /ehr/{ehrId}/patient`.',
    extra: true,
  },
  alertRules: {
    takes: AlertRulesParams,
    result: SavedAlertRules,
    description: 'Returns the same as `GET /ehr/{ehrId}/careplan/{careplanId}/alert-rules`.',
    extra: true,
  },
  saveAlertRules: {
    takes: SaveAlertRulesParams,
    result: SavedAlertRules,
    description: 'Does the same as `PUT /ehr/{ehrId}/careplan/{careplanId}/alert-rules`.',
    extra: true,
  },
  handOverWorklist: {
    takes: HandoverBody,
    result: HandoverResource,
    description: 'Does the same as `POST /worklist/handover`.',
    extra: true,
  },
  endHandover: {
    takes: EndHandoverParams,
    result: HandoverResource,
    description: 'Both sides can end a handover. Repeating the call changes nothing.',
    extra: true,
  },
  handovers: {
    takes: HandoverListParams,
    result: HandoverList,
    description: 'Returns the same as `GET /worklist/handover`.',
    extra: true,
  },
  colleagues: {
    takes: NoParams,
    result: Colleagues,
    description: 'Returns the same as `GET /worklist/colleague`.',
    extra: true,
  },
  handleAlert: {
    takes: HandleAlertParams,
    result: toParseSchema(classKinds.Event.stored),
    description:
      'Nobody can take or resolve what another user has taken; release it first. A step that you repeat changes nothing.',
    extra: true,
  },
}

const describeFunctionPaths = (
  operationObject: DescribeOperation,
  functions: Readonly<Record<string, DescribedFunction>>,
): Record<string, Json> =>
  Object.fromEntries(
    Object.entries(functions).map(([name, { takes, result, description, ...beyond }]) => [
      `/functions/${name}`,
      {
        post: operationObject({
          ...beyond,
          operationId: `call${name[0]?.toUpperCase()}${name.slice(1)}`,
          summary: takes.description ?? name,
          description: `${description} Also available under \`/1/functions\`.`,
          source: 'Class-based family: Functions layer',
          takes,
          answers: [200, closedObject(`${result.$id}Answer`, 'Result of the function', { result })],
        }),
      },
    ]),
  )

const BatchedRequest = Type.Object(
  {
    method: Type.Unsafe<string>({
      type: 'string',
      enum: ['POST', 'PUT', 'DELETE', 'GET'],
      description: 'HTTP method',
      examples: ['POST'],
    }),
    path: Type.String({
      description: 'Path without a query string',
      examples: ['/1/classes/Task'],
      pattern: '^/1(/[^/?#.]+)+/?$',
    }),
    body: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description: 'Body of the request',
          examples: [{ goalId: 'g3HjKl56Ty', name: 'Buy good shoes' }],
        },
      ),
    ),
  },
  { additionalProperties: false, description: 'A request of the batch' },
)
const Batch = closedObject('Batch', 'A batch of requests', {
  requests: Type.Array(BatchedRequest, {
    maxItems: 50,
    description: 'Requests, carried out one by one in this order',
  }),
  transaction: Type.Optional(
    Type.Unsafe<false>({
      type: 'boolean',
      enum: [false],
      examples: [false],
      description: 'False: a batch is not a transaction',
    }),
  ),
})
const BatchOutcome = Type.Object(
  {
    success: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description: 'Response to a successful request',
          examples: [{ objectId: 't9VcXs40Re', createdAt: '2026-03-01T08:30:00.000Z' }],
        },
      ),
    ),
    error: Type.Optional(
      Type.Object(
        {
          code: Type.Integer({ description: 'Error code of Parse' }),
          error: Type.String({ description: 'Error message' }),
        },
        { description: 'Error of a failed request', examples: [{ code: 101, error: 'Object not found.' }] },
      ),
    ),
  },
  {
    additionalProperties: false,
    description: 'Result of a request: either success or error',
    examples: [{ success: { objectId: 't9VcXs40Re', createdAt: '2026-03-01T08:30:00.000Z' } }],
  },
)
const BatchOutcomes = Type.Array(BatchOutcome, {
  $id: 'BatchOutcomes',
  description: 'Results of the requests, in the same order',
})

const describeBatchPath = (operationObject: DescribeOperation): Record<string, Json> => ({
  '/1/batch': {
    post: operationObject({
      operationId: 'sendBatch',
      summary: 'Send up to 50 requests at once',
      description:
        'Each request counts against the rate limits and succeeds or fails on its own; a batch is not a transaction. Its requests have no headers, so If-Match is not available. Account requests are not accepted in a batch.',
      source: 'batches of Parse SDKs',
      extra: true,
      takes: Batch,
      answers: [200, BatchOutcomes],
    }),
  },
})

/** Classes that have a clause of their own in the specification. */
const SPECIFIED_CLASSES = new Set(['Ehr', 'CarePlan', 'Goal', 'Custom', 'BloodPressure'])

const withClassSource =
  (operationObject: DescribeOperation, name: string) =>
  (operation: Omit<ClassOperation, 'source'>): Json =>
    operationObject({
      ...operation,
      source: `Class-based family: Data layer${SPECIFIED_CLASSES.has(name) ? `; Class ${name}` : ''}`,
    })

/** The class of some paths, with its name in paths and in ids. */
interface DescribedClass {
  path: string
  name: string
  forms: Record<'stored' | 'create' | 'update', TObject>
  /** Whether only the service writes objects of the class. */
  readOnly?: boolean | undefined
}

function describeClassPaths(
  describedClass: DescribedClass,
  operationObject: ReturnType<typeof withClassSource>,
): Record<string, Json> {
  const { path } = describedClass
  return {
    [`/1/classes/${path}`]: describeObjects(describedClass, operationObject),
    [`/1/classes/${path}/{objectId}`]: {
      parameters: [referToParameter('objectId')],
      ...describeObject(describedClass, operationObject),
    },
  }
}

const fieldsOf = (schema: TObject): TObject | undefined => (schema === AnyObject ? undefined : schema)

const describeObjects = (
  { name, forms: { stored, create }, readOnly }: DescribedClass,
  operationObject: ReturnType<typeof withClassSource>,
): Json => ({
  get: operationObject({
    operationId: `list${name}Objects`,
    summary: `List ${name} objects`,
    description: 'Returns the objects that the caller may read.',
    answers: [200, createResultsSchema(name, toParseSchema(stored))],
    parameters: describeListParameters(fieldsOf(stored)),
  }),
  ...(!readOnly && {
    post: operationObject({
      operationId: `create${name}Object`,
      summary: `Create ${withArticle(name)} object`,
      description: 'An invalid object gets an error that names every violation.',
      takes: create,
      answers: [201, ObjectCreated],
    }),
  }),
})

const describeObject = (
  { name, forms: { stored, update }, readOnly }: DescribedClass,
  operationObject: ReturnType<typeof withClassSource>,
): Json => ({
  get: operationObject({
    operationId: `get${name}Object`,
    summary: `Get ${withArticle(name)} object`,
    description: 'An object that the caller may not read gets the same error as one that does not exist.',
    versions: 'IfNoneMatch',
    answers: [200, toParseSchema(stored)],
    parameters: describeObjectParameters(fieldsOf(stored)),
  }),
  ...(!readOnly && {
    put: operationObject({
      operationId: `update${name}Object`,
      summary: `Update ${withArticle(name)} object`,
      description:
        'Omitted properties keep their values; `{"__op": "Delete"}` removes a property. Unchanged values may be sent back, also those that only the service sets. Without a change the object keeps its version.',
      takes: update,
      answers: [200, ObjectUpdated],
      versions: 'IfMatch',
    }),
  }),
  ...(!readOnly && {
    delete: operationObject({
      operationId: `delete${name}Object`,
      summary: `Delete ${withArticle(name)} object`,
      description: 'Deletes the records that belong to it, too. The path family can restore it.',
      versions: 'IfMatch',
      answers: [200, ObjectRemoved],
    }),
  }),
})
