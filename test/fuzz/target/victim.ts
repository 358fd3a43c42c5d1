import { askFor } from '../generator/requests.ts'
import type { Actor, Answer, Ask } from '../generator/world/ask.ts'
import type { Target } from '../generator/world/document.ts'
import type { World } from '../generator/world/world.ts'
import { send } from './client.ts'

/** What the victim writes: health data that nobody else may see, and personal data that administrators may. */
const planted = { clinical: 'planted-health-data', personal: 'planted-personal-data' }

const isClinical = ({ path }: Target): boolean => /^\/(ehr|med|1\/classes)/.test(path)

/** What cannot be shared with anybody: nobody takes part in it, and it is in the victim's own EHR. */
const isPlanted = ({ method, path }: Target): boolean =>
  (method === 'POST' || (method === 'PUT' && path === '/profile/{mvUid}')) &&
  /^\/(ehr|med|profile|1\/classes)\//.test(path) &&
  !/participant|network|restore|owns|close|audit|picture|\/med\/ehr|\/Ehr$/.test(path)

/** Plants the victim's data by every operation that adds some. @returns how many were planted */
export async function plant(world: World, url: string): Promise<number> {
  let count = 0
  for (let round = 0; round < 3; round++)
    for (const target of world.openApi.targets.filter(isPlanted)) {
      const text = isClinical(target) ? planted.clinical : planted.personal
      const ask = askFor(world, target, 'victim', text)
      const answer = await send(url, ask)
      world.memory.learn(ask, answer)
      if (answer.status < 300) count++
    }
  return count
}

/** Whether an answer shows what the one who asks may not see. */
export function showsPlanted({ actor, path }: Ask, answer: Answer): boolean {
  // A refusal repeats the path: what stands there, the one who asks has guessed.
  const text = answer.text.replaceAll(path.replace(/\?.*$/, ''), '')
  return tellsPlanted(actor, text)
}

/** The same of any text that reaches somebody. */
export const tellsPlanted = (actor: Actor, text: string): boolean =>
  actor !== 'victim' &&
  (text.includes(planted.clinical) || (actor !== 'admin' && text.includes(planted.personal)))

/** What the victim has, as the class family shows it to them. */
export async function belongings(world: World, url: string): Promise<Map<string, string>> {
  const lists = world.openApi.targets.filter(
    ({ method, path }) => method === 'GET' && /^\/1\/classes\/\w+$/.test(path),
  )
  const found = new Map<string, string>()
  for (const target of lists) {
    const { json } = await send(url, askFor(world, target, 'victim'))
    const { results = [] } = (json ?? {}) as { results?: { objectId: string }[] }
    for (const object of results) found.set(`${target.path}/${object.objectId}`, JSON.stringify(object))
  }
  return found
}
