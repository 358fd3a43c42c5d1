import { Type } from '@sinclair/typebox'
import { type ExportStatus, POLL_INTERVAL_S } from '../../../../fhir/export/bulk-exports.ts'
import { parameterError } from '../../../../fhir/outcome/issue.ts'
import { closedObject } from '../../../../schemas/common.ts'
import { ServiceError } from '../../../../schemas/errors.ts'
import type { Context } from '../../../operation/context.ts'
import { appendQuery } from '../../../operation/list-operation.ts'
import { defineOperation, type Operation } from '../../../operation/operation.ts'
import { describedBody, rawBody } from '../../../reply/body-media.ts'
import { replyWith } from '../../../reply/reply.ts'
import { FHIR_PATH, fhirOperation, resourceIdField, resultParameters, withPost } from '../fhir-operation.ts'

const { _since, _type, _format } = resultParameters

const text = (description: string) => Type.String({ description })

const FileField = Type.Object(
  {
    type: text('Type of the resources'),
    url: text('URL of the file'),
    count: Type.Integer({ description: 'Number of resources' }),
  },
  { additionalProperties: false, description: 'A file' },
)

const ExportManifest = closedObject('FhirExport', 'The files of an export', {
  transactionTime: text('The files have all changes before this time'),
  request: text('URL of the request'),
  requiresAccessToken: Type.Boolean({ description: 'Always true: the files need the token of the user' }),
  output: Type.Array(FileField, { description: 'Files with resources' }),
  deleted: Type.Array(FileField, { description: 'Files with Bundles that delete resources' }),
  error: Type.Array(FileField, { description: 'Files with errors; always empty' }),
})

/** The common part of both requests for an export. */
const startOperation = {
  ...fhirOperation,
  method: 'get',
  query: {
    _type,
    _since,
    _outputFormat: Type.Optional(Type.String({ description: 'Format of the files', examples: ['ndjson'] })),
    _format,
  },
  description:
    'The header `Prefer: respond-async` is required. Content-Location has the URL of the export. With `_since`, the export has a file of deletions, too. An app gets what its scopes name (letter s): of the types in `_type`, or of all.',
  access: 'account',
  reply: [202],
} as const

/** @throws InvalidInput without `Prefer: respond-async`; as BulkExports.start */
async function startExport(
  { caller, fhir, fhirExports, fhirPreferences, newId }: Context<'user'>,
  { path, query, groupId }: { path: string; query: object; groupId?: string },
) {
  if (!fhirPreferences.respondAsync) throw parameterError('Prefer', 'required', 'must be respond-async')
  const parameters = query as Record<string, unknown>
  const request = appendQuery(`${fhir.base}/${path}`, parameters)
  const id = await fhirExports.start(caller, { groupId, parameters, request }, newId())
  return replyWith(undefined, { headers: { 'content-location': `${fhir.base}/export/${id}` } })
}

const exportIdField = resourceIdField('export', 'x7TgBn42Lk')

/** The common part of the operations on an export. */
const oneExport = {
  ...fhirOperation,
  path: `${FHIR_PATH}/export/{exportId}`,
  params: { exportId: exportIdField },
  access: 'account',
} as const

const manifestOf = (base: string, { startedAt, request, output, deleted }: ExportStatus) => {
  const toFileEntries = (files: ExportStatus['output']) =>
    files.map(({ type, name, count }) => ({ type, url: `${base}/${name}`, count }))
  return {
    transactionTime: startedAt,
    request,
    requiresAccessToken: true,
    output: toFileEntries(output),
    deleted: toFileEntries(deleted),
    error: [],
  }
}

/** Requests for exports. */
const startOperations: readonly Operation[] = [
  defineOperation({
    ...startOperation,
    id: 'exportFhirPatients',
    path: `${FHIR_PATH}/Patient/$export`,
    summary: 'Export the resources of all patients whom you may read',
    handle: ({ query }, context) => startExport(context, { path: 'Patient/$export', query }),
  }),
  defineOperation({
    ...startOperation,
    id: 'exportFhirGroup',
    path: `${FHIR_PATH}/Group/{groupId}/$export`,
    params: { groupId: resourceIdField('group: patients, or the id of a care plan', 'patients') },
    summary: 'Export the resources of a group of patients',
    handle: ({ params: { groupId }, query }, context) =>
      startExport(context, { path: `Group/${groupId}/$export`, query, groupId }),
  }),
].flatMap(withPost)

export const fhirExportOperations = [
  ...startOperations,
  defineOperation({
    ...oneExport,
    id: 'getFhirExport',
    method: 'get',
    summary: 'Get the progress of an export, and its files',
    description: `Ask every ${POLL_INTERVAL_S} seconds, as Retry-After says. X-Progress tells how far the export is.`,
    reply: [200, describedBody(ExportManifest, 'application/json')],
    pending: 'The export is being prepared',
    handle: async ({ params: { exportId } }, { caller, fhir, fhirExports }) => {
      const status = await fhirExports.status(caller, exportId)
      const manifest = JSON.stringify(manifestOf(`${fhir.base}/export/${exportId}`, status))
      const { progress } = status
      return progress === undefined
        ? replyWith(manifest, { headers: { expires: status.expiresAt.toUTCString() } })
        : replyWith(manifest, {
            accepted: true,
            headers: { 'x-progress': progress, 'retry-after': String(POLL_INTERVAL_S) },
          })
    },
  }),
  defineOperation({
    ...oneExport,
    id: 'deleteFhirExport',
    method: 'delete',
    summary: 'Cancel an export, or delete its files',
    reply: [202],
    handle: async ({ params: { exportId } }, { caller, fhirExports, ifMatch }) => {
      // Exports have no versions, so a condition on one always fails.
      if (Array.isArray(ifMatch)) throw new ServiceError('PreconditionFailed')
      await fhirExports.cancel(caller, exportId)
    },
  }),
  defineOperation({
    ...fhirOperation,
    id: 'readFhirExportFile',
    method: 'get',
    path: `${FHIR_PATH}/export/{exportId}/{file}`,
    params: {
      exportId: exportIdField,
      file: Type.String({
        pattern: '^[A-Za-z]{1,64}\\.ndjson$',
        examples: ['Observation.ndjson'],
        description: 'Name of the file',
      }),
    },
    summary: 'Get a file of an export',
    access: 'account',
    reply: [200, rawBody('application/fhir+ndjson')],
    handle: ({ params: { exportId, file } }, { caller, fhirExports }) =>
      fhirExports.read(caller, exportId, file),
  }),
]
