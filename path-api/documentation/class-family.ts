import { type TSchema, Type } from '@sinclair/typebox'
import { CLASS_NAMES, classes } from '../../records/kinds.ts'
import { AcqParams } from '../../schemas/acq.ts'
import { ConditionParams } from '../../schemas/blood-pressure-condition.ts'
import { BmiParams } from '../../schemas/bmi.ts'
import { articled, closed } from '../../schemas/common.ts'
import { exampleOf } from './example.ts'
import type { Json, SchemaCollector } from './schema-collector.ts'

const ClassError = closed('ClassError', 'What went wrong, in the class family', {
  code: Type.Integer({ description: 'A number for programs', examples: [101] }),
  error: Type.String({ description: 'What it means', examples: ['Object not found.'] }),
})

const moment = Type.String({ format: 'date-time' })
const Created = closed('ObjectCreated', 'What the service added', {
  objectId: Type.String(),
  createdAt: moment,
})
const Updated = closed('ObjectUpdated', 'What the service changed', { updatedAt: moment })
const Removed = closed('ObjectRemoved', 'Nothing remains', {})
const listOf = (item: TSchema) =>
  Type.Object(
    { results: Type.Array(item), count: Type.Optional(Type.Integer()) },
    { description: 'The objects, and their count if it was requested' },
  )

const filters = [
  ['where', 'Filter: a JSON condition', '{"status":"ACTIVE"}'],
  ['order', 'Properties to sort by, separated by commas; `-` before one sorts descending', '-createdAt'],
  ['limit', 'Maximum number of objects: 100 by default, at most 1000', '100'],
  ['skip', 'Number of objects to skip', '0'],
  ['distinct', 'Property whose distinct values are returned', 'status'],
  ['count', '1: count the objects', '1'],
] as const
const parameters: Record<string, Json> = {
  ...Object.fromEntries(
    filters.map(([name, description, example]) => [
      name,
      { name, in: 'query', description, schema: { type: 'string', examples: [example] } },
    ]),
  ),
  objectId: {
    name: 'objectId',
    in: 'path',
    required: true,
    description: 'Object id',
    schema: { type: 'string' },
  },
}
const shared = (name: string): Json => ({ $ref: `#/components/parameters/${name}` })
const query = filters.map(([name]) => shared(name))
const objectId = shared('objectId')

const Credentials = closed('ClassLogin', 'A name and its password', {
  username: Type.String({ description: 'Name of the user', examples: ['anna@example.org'] }),
  password: Type.String({ description: 'Password', examples: ['correct horse battery 9'] }),
})
const SignUp = closed('ClassSignUp', 'A new user', {
  ...Credentials.properties,
  email: Type.String({ format: 'email', description: 'Address; an activation mail goes there' }),
  termsAccepted: Type.Optional(
    Type.Boolean({
      description: 'Agreement to the terms of service; left out, the activation asks',
      examples: [true],
    }),
  ),
})
const currentPassword = Type.Optional(
  Type.String({ description: 'The current password; not needed within 10 minutes of the login' }),
)
const AccountChange = closed('ClassAccountChange', 'What is to change of the own account', {
  ...Type.Partial(Type.Omit(SignUp, ['termsAccepted'])).properties,
  currentPassword,
})
const AccountProof = closed('ClassAccountProof', 'That it is the person', { currentPassword })
const Done = closed('ClassDone', 'The same whether or not the address has an account', {})
const Address = closed('ClassAddress', 'The address to mail to', { email: SignUp.properties.email })
const Session = Type.Object(
  {
    objectId: Type.String({ description: 'User id' }),
    sessionToken: Type.String({ description: 'For the header' }),
  },
  { $id: 'ClassSession', description: 'The user, and a token for every later request' },
)
const Result = Type.Object(
  { result: Type.Unknown() },
  { $id: 'FunctionResult', description: 'The result of the function' },
)

const byKeys = [{ applicationId: [], restApiKey: [] }]
const bySession = [{ applicationId: [], restApiKey: [], sessionToken: [] }]

interface ClassOperation {
  operationId: string
  summary: string
  takes?: TSchema
  answers: readonly [status: number, schema: TSchema]
  parameters?: Json[]
  security?: Json[]
}

/**
 * The class family's paths and what they share, for the document that describes both families.
 * @param open whether it is that of the open test environment: without sessions, and with whatever classes clients make
 */
export function classFamily(
  schemas: SchemaCollector,
  open: boolean,
): Record<'paths' | 'responses' | 'parameters', Json> {
  const json = (schema: TSchema) => ({
    'application/json': { schema: schemas.collect(schema), example: exampleOf(schema) },
  })
  const fault = { $ref: '#/components/responses/ClassRefusal' }
  const operationObject = ({
    takes,
    answers: [status, schema],
    security = open ? byKeys : bySession,
    ...rest
  }: ClassOperation): Json => ({
    ...rest,
    tags: ['Class family'],
    security,
    ...(takes === undefined ? {} : { requestBody: { required: true, content: json(takes) } }),
    responses: {
      [status]: { description: schema.description ?? 'Done', content: json(schema) },
      400: fault,
      401: fault,
      404: fault,
    },
  })
  const ofClasses = CLASS_NAMES.map((name) => classPaths(name, name, classes[name], operationObject))
  const paths = open
    ? Object.assign(openPaths(operationObject), functionPaths(operationObject))
    : Object.assign(accountPaths(operationObject), ...ofClasses, functionPaths(operationObject))
  return {
    paths,
    responses: { ClassRefusal: { description: 'Refused', content: json(ClassError) } },
    parameters: open ? { ...parameters, className } : parameters,
  }
}

type OperationObject = (about: ClassOperation) => Json

const accountPaths = (operationObject: OperationObject): Record<string, Json> => ({
  '/1/users': {
    post: operationObject({
      operationId: 'signUp',
      summary: 'Sign up',
      takes: SignUp,
      answers: [201, Created],
      security: byKeys,
    }),
  },
  '/1/login': {
    post: operationObject({
      operationId: 'logIn',
      summary: 'Log in',
      takes: Credentials,
      answers: [200, Session],
      security: byKeys,
    }),
  },
  '/1/requestPasswordReset': {
    post: operationObject({
      operationId: 'requestPasswordReset',
      summary: 'Mail a link to choose a new password',
      takes: Address,
      answers: [200, Done],
      security: byKeys,
    }),
  },
  '/1/verificationEmailRequest': {
    post: operationObject({
      operationId: 'requestVerificationEmail',
      summary: 'Mail a new activation link',
      takes: Address,
      answers: [200, Done],
      security: byKeys,
    }),
  },
  '/1/classes/_User/{objectId}': {
    parameters: [objectId],
    put: operationObject({
      operationId: 'changeUser',
      summary: 'Update your own account; a new address takes effect once the link mailed to it is followed',
      takes: AccountChange,
      answers: [200, Updated],
    }),
    delete: operationObject({
      operationId: 'deleteUser',
      summary: 'Delete your own account with all personal data; EHRs stay',
      takes: AccountProof,
      answers: [200, Removed],
    }),
  },
})

const functionPaths = (operationObject: OperationObject): Record<string, Json> =>
  Object.fromEntries(
    Object.entries(functions).map(([name, takes]) => [
      `/functions/${name}`,
      {
        post: operationObject({
          operationId: `${name}Function`,
          summary: takes.description ?? name,
          takes,
          answers: [200, Result],
        }),
      },
    ]),
  )

const functions: Record<string, TSchema> = {
  bmi: BmiParams,
  acq: AcqParams,
  bloodPressureCondition: ConditionParams,
}

const className = {
  name: 'className',
  in: 'path',
  required: true,
  description: 'Class; it is made with its first object',
  schema: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$', examples: ['BloodPressure'] },
}
const Anything = Type.Object({}, { $id: 'AnyObject', additionalProperties: true, description: 'An object' })
const OpenSignUp = closed('OpenSignUp', 'A new user', {
  ...Credentials.properties,
  email: Type.Optional(SignUp.properties.email),
})

/** What the open test environment has instead of the accounts and classes of the main service. */
function openPaths(operationObject: OperationObject): Record<string, Json> {
  const { '/1/users': _, '/1/classes/_User/{objectId}': __, ...ofAccounts } = accountPaths(operationObject)
  const anything = { stored: Anything, create: Anything, update: Anything }
  const ofClasses = Object.entries(classPaths('{className}', 'Any', anything, operationObject))
  return {
    '/1/users': {
      post: operationObject({
        operationId: 'signUp',
        summary: 'Sign up',
        takes: OpenSignUp,
        answers: [201, Created],
      }),
    },
    ...ofAccounts,
    ...Object.fromEntries(
      ofClasses.map(([path, about]) => [
        path,
        { ...about, parameters: [shared('className'), ...((about.parameters ?? []) as Json[])] },
      ]),
    ),
  }
}

/** @param path the name of the class as it stands in paths, `name` as it stands in ids */
function classPaths(
  path: string,
  name: string,
  { stored, create, update }: Record<'stored' | 'create' | 'update', TSchema>,
  operationObject: OperationObject,
): Record<string, Json> {
  const id = (verb: string) => `${verb}${name}Object`
  return {
    [`/1/classes/${path}`]: {
      get: operationObject({
        operationId: id('list'),
        summary: `List ${name} objects`,
        answers: [200, listOf(stored)],
        parameters: query,
      }),
      post: operationObject({
        operationId: id('create'),
        summary: `Add ${articled(name)} object`,
        takes: create,
        answers: [201, Created],
      }),
    },
    [`/1/classes/${path}/{objectId}`]: {
      parameters: [objectId],
      get: operationObject({
        operationId: id('get'),
        summary: `Get ${articled(name)} object`,
        answers: [200, stored],
      }),
      put: operationObject({
        operationId: id('update'),
        summary: `Update ${articled(name)} object`,
        takes: update,
        answers: [200, Updated],
      }),
      delete: operationObject({
        operationId: id('delete'),
        summary: `Delete ${articled(name)} object`,
        answers: [200, Removed],
      }),
    },
  }
}
