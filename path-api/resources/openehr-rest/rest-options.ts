import { Type } from '@sinclair/typebox'
import packageJson from '../../../package.json' with { type: 'json' }
import { closedObject } from '../../../schemas/common.ts'
import { defineOperation } from '../../operation/operation.ts'
import { REST_PATH, restOperation } from './shared/rest-operation.ts'

const text = (description: string, example: string) => Type.String({ description, examples: [example] })

const RestOptions = closedObject('RestOptions', 'Parts of ITS-REST that the service has', {
  solution: text('Name of the service', 'health-record-service'),
  solution_version: text('Version of the service', '0.2.0'),
  vendor: text('Maker of the service', 'health-record-service'),
  restapi_specs_version: text('Version of ITS-REST', '1.0.3'),
  conformance_profile: text('Profile of openEHR conformance', 'STANDARD'),
  endpoints: Type.Array(Type.String(), { description: 'Paths of the parts', examples: [['/ehr']] }),
})

const options = {
  solution: 'health-record-service',
  solution_version: packageJson.version,
  vendor: 'health-record-service',
  restapi_specs_version: '1.0.3',
  conformance_profile: 'STANDARD',
  endpoints: ['/ehr', '/definition', '/query'],
}

export const restOptionsOperations = [
  defineOperation({
    ...restOperation,
    id: 'describeRestOptions',
    method: 'options',
    path: REST_PATH,
    summary: 'Describe the parts of ITS-REST that the service has',
    access: 'public',
    reply: [200, RestOptions],
    handle: () => options,
  }),
]
