import assert from 'node:assert/strict'
import { createPatient } from '../../../harness/care/patients.ts'
import { assertStatus } from '../../../harness/clients/path-client.ts'
import { readPages } from '../../fhir-client.ts'

describe('a search in FHIR whose order is by a date that some records lack', () => {
  it('shows each of them once, in pages of any size and in both orders', async () => {
    const patient = await createPatient()
    const ids: string[] = []
    for (const date of [undefined, '2026-10-12', undefined, '2025-10-12', undefined]) {
      const body = { vaccine: 'Flu vaccine', ...(date && { date }) }
      ids.push(assertStatus(await patient.call('POST', 'immunisation', body), 201).id)
    }
    const dated = [ids[1], ids[3]]
    for (const count of [1, 2, 5]) {
      const query = `Immunization?patient=${patient.ehrId}&_count=${count}`
      const newest = await readPages(patient, query)
      assert.deepEqual(newest.slice(0, 2), dated)
      assert.deepEqual(newest.toSorted(), ids.toSorted())
      const oldest = await readPages(patient, `${query}&_sort=date`)
      assert.deepEqual(oldest, newest.toReversed())
    }
  })
})
