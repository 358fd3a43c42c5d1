import { type Operation, pathParameterNames } from '../../../path-api/operation/operation.ts'
import { toRestEhrId } from '../../../path-api/resources/openehr-rest/shared/ehr-ids.ts'
import type { Ids } from '../../harness/care/access-fixture.ts'
import type { Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPressureComposition } from '../../harness/openehr-samples.ts'
import { contributionOf, folder, subjectStatus, versionOf } from './fixture.ts'

/** A directory that has the folder of the document's example: `/emergency/episode`. */
const exampleDirectory = folder('root', {
  folders: [folder('emergency', { folders: [folder('episode')] })],
})

/** The ids for an operation of the openEHR REST API on the patient's EHR, which then has a directory. */
export async function restIdsOf({ path, method }: Operation, patient: Patient, ids: Ids): Promise<Ids> {
  const ehrId = toRestEhrId(patient.ehrId)
  const ehr = `/openehr/v1/ehr/${ehrId}`
  const uidAt = async (place: string) => (await patient.call('GET', `${ehr}${place}`)).etag.slice(1, -1)
  const parameterNames = pathParameterNames(path)
  const { compositionId = '' } = ids
  if (path.includes('/directory') && method !== 'post')
    await patient.call('POST', `${ehr}/directory`, exampleDirectory)
  if (path.includes('/directory') && method === 'post') await deleteDirectory(patient, `${ehr}/directory`)
  const resource = path.includes('/directory')
    ? '/directory'
    : path.includes('ehr_status')
      ? '/ehr_status'
      : `/composition/${compositionId}`
  return {
    ...ids,
    ehrId,
    objectId: compositionId,
    ...(parameterNames.includes('versionUid') && { versionUid: await uidAt(resource) }),
    ...(parameterNames.includes('contributionId') && {
      contributionId: (await uidAt('/ehr_status')).replace(/::.*::/, '::'),
    }),
    ...(path.includes('{compositionId}') &&
      method === 'delete' && { compositionId: await uidAt(`/composition/${compositionId}`) }),
  }
}

async function deleteDirectory(patient: Patient, path: string): Promise<void> {
  const { status, etag } = await patient.call('GET', path)
  if (status === 200) assertStatus(await patient.call('DELETE', path, undefined, { 'if-match': etag }), 204)
}

/** A valid body of an operation of the openEHR REST API. */
export function restBodyOf({ path, method }: Operation, { template = '' }: Ids): unknown {
  if (method === 'get' || method === 'delete') return undefined
  if (path.includes('/directory')) return folder()
  if (path.includes('ehr_status')) return { ...subjectStatus(), subject: {} }
  const composition = createPressureComposition(template, 150)
  return path.endsWith('/contribution') ? contributionOf(versionOf(composition)) : composition
}
