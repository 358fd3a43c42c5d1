import type { FuzzContext } from '../generator/context/fuzz-context.ts'
import type { Actor, FuzzRequest, FuzzResponse } from '../generator/context/fuzz-request.ts'
import type { FuzzedOperation } from '../generator/context/openapi-targets.ts'
import { generateOperationRequest } from '../generator/operation-requests.ts'
import { sendFuzzRequest } from './fuzz-client.ts'

/** The victim's data: health data that nobody else may see, and personal data that administrators may see. */
const PLANTED_TEXTS = { clinical: 'planted-health-data', personal: 'planted-personal-data' }

const isClinical = ({ path }: FuzzedOperation): boolean => /^\/(ehr|med|1\/classes)/.test(path)

/**
 * Only records that cannot be shared: no other participant sees them, and they are in the victim's own EHR.
 */
const isPlanted = ({ method, path }: FuzzedOperation): boolean =>
  (method === 'POST' || (method === 'PUT' && path === '/profile/{mvUid}')) &&
  /^\/(ehr|med|profile|1\/classes)\//.test(path) &&
  !/participant|network|restore|owns|close|audit|picture|\/med\/ehr|\/Ehr$/.test(path)

/** Plants the victim's data with every operation that adds records. @returns the number of planted records */
export async function plantVictimData(world: FuzzContext, url: string): Promise<number> {
  let count = 0
  for (let round = 0; round < 3; round++)
    for (const target of world.openApi.targets.filter(isPlanted)) {
      const text = isClinical(target) ? PLANTED_TEXTS.clinical : PLANTED_TEXTS.personal
      const ask = generateOperationRequest(world, target, 'victim', text)
      const answer = await sendFuzzRequest(url, ask)
      world.memory.learn(ask, answer)
      if (answer.status < 300) count++
    }
  return count
}

/** The audit of an EHR names those who asked for its data, even if they were refused. */
const AUDIT_PATH = /^\/ehr\/([^/]+\/)?audit([/?]|$)/

/** Whether a response contains data that the sender may not see. */
export function isPlantedDataShown({ actor, path }: FuzzRequest, answer: FuzzResponse): boolean {
  // Refusals repeat the path, which the sender wrote, so it proves nothing.
  const text = answer.text.replaceAll(path.replace(/\?.*$/, ''), '')
  return isPlantedTextIn(actor, AUDIT_PATH.test(path) ? text.replaceAll(PLANTED_TEXTS.personal, '') : text)
}

/** The same for any text that reaches an actor. */
export const isPlantedTextIn = (actor: Actor, text: string): boolean =>
  actor !== 'victim' &&
  (text.includes(PLANTED_TEXTS.clinical) || (actor !== 'admin' && text.includes(PLANTED_TEXTS.personal)))

/** The victim's data as the class family shows them to the victim. */
export async function readVictimData(world: FuzzContext, url: string): Promise<Map<string, string>> {
  const lists = world.openApi.targets.filter(
    ({ method, path }) => method === 'GET' && /^\/1\/classes\/\w+$/.test(path),
  )
  const markers = new Map<string, string>()
  for (const target of lists) {
    const { json } = await sendFuzzRequest(url, generateOperationRequest(world, target, 'victim'))
    const { results = [] } = (json ?? {}) as { results?: { objectId: string }[] }
    for (const object of results) markers.set(`${target.path}/${object.objectId}`, JSON.stringify(object))
  }
  return markers
}
