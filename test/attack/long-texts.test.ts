import assert from 'node:assert/strict'
import { callFhir } from '../fhir/fhir-client.ts'
import { createPlanInOwnEhr } from '../harness/care/by-class-family.ts'
import { createPressureComposition, getStoredTemplate } from '../harness/openehr-samples.ts'
import { createPerson, type Person } from '../harness/people/people.ts'

/** Texts so long that work in the square of their length would take many minutes. */
const LENGTH = 800_000

const expectRefusal = async (answer: Promise<{ status: number }>) => {
  const { status } = await answer
  assert.ok(status === 400 || status === 422, `${status}`)
}

describe('attack: long texts', function suite() {
  this.timeout(30_000)
  let person: Person
  let ehrId: string
  let template: string
  before(async () => {
    person = await createPerson()
    ;({ ehrId } = await createPlanInOwnEhr(person))
    template = await getStoredTemplate()
  })

  const compositions = () => `/med/ehr/${ehrId}/composition/json?templateId=${template}`

  it('are refused in a Subscription and an Observation', async () => {
    const subscription = { resourceType: 'Subscription', end: 'T'.repeat(LENGTH) }
    await expectRefusal(callFhir(person, 'POST', 'Subscription', subscription))
    const observation = { resourceType: 'Observation', ['.where('.repeat(LENGTH / 8)]: 1 }
    await expectRefusal(callFhir(person, 'POST', 'Observation', observation))
  })

  it('are refused as classes and data of a composition', async () => {
    for (const name of [
      { _type: `${'<'.repeat(LENGTH)}\n` },
      { _type: 'DV_MULTIMEDIA', data: `${' '.repeat(LENGTH)}!` },
    ]) {
      const body = createPressureComposition(template, 120, { name })
      await expectRefusal(person.call('POST', compositions(), body))
    }
  })
})
