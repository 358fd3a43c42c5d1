import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { compositionArea } from './cases/composition-cases.ts'
import { contributionArea } from './cases/contribution-cases.ts'
import { directoryArea } from './cases/directory-cases.ts'
import { ehrArea } from './cases/ehr-cases.ts'
import { ehrStatusArea } from './cases/ehr-status-cases.ts'
import { storedQueryArea } from './cases/stored-query-cases.ts'
import { templateArea } from './cases/template-cases.ts'
import { createFixture, type Fixture } from './fixture.ts'

const areas = [
  ehrArea,
  ehrStatusArea,
  compositionArea,
  contributionArea,
  directoryArea,
  templateArea,
  storedQueryArea,
]
const countOf = (cases: readonly { cases?: number }[]): number =>
  cases.reduce((sum, one) => sum + (one.cases ?? 1), 0)

describe('the public conformance cases of the openEHR REST API', () => {
  let fixture: Fixture

  before(async () => {
    fixture = await createFixture()
  })

  for (const { area, cases } of areas)
    describe(area, () => {
      for (const one of cases) it(one.does, () => one.run(fixture))
    })

  it('are counted in the documentation, with the reason of each deviation', () => {
    const text = readFileSync('docs/openehr-rest.md', 'utf8')
    for (const { area, cases, deviations } of areas) {
      const same = countOf(cases)
      const other = countOf(deviations)
      const row = new RegExp(`^\\| ${area} +\\| ${same + other} +\\| ${same} +\\| ${other} +\\|`, 'm')
      assert.match(text, row)
      for (const { does, because } of deviations) assert.ok(text.includes(`${does}: ${because}`), does)
    }
    const same = areas.reduce((sum, { cases }) => sum + countOf(cases), 0)
    const caseCount = same + areas.reduce((sum, { deviations }) => sum + countOf(deviations), 0)
    assert.ok(same / caseCount >= 0.95, `${same} of ${caseCount}`)
  })
})
