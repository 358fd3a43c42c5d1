import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Context } from 'mocha'
import { createPatient } from '../../../../harness/care/patients.ts'
import { assertStatus } from '../../../../harness/clients/path-client.ts'
import { readCorpusFile } from '../../../../harness/corpus.ts'
import { readCorpusBytes, sendXml } from '../../../../harness/openehr-samples.ts'
import type { Person } from '../../../../harness/people/people.ts'
import { type Case, Names, type Step, type Store, USUAL_STATUS } from './suites.ts'

/** The EHRs of a new user, filled and queried over HTTP. */
export class Served implements Store {
  readonly names = new Names()
  readonly #test: Context
  readonly #person: Person
  readonly #modeller: Person
  readonly #idsByOwn = new Map<string, string>()

  private constructor(test: Context, person: Person, modeller: Person) {
    this.#test = test
    this.#person = person
    this.#modeller = modeller
  }

  static async empty(test: Context, modeller: Person): Promise<Served> {
    const patient = await createPatient()
    assertStatus(await patient.call('DELETE', `/med/ehr/${patient.ehrId}`), 204)
    return new Served(test, patient, modeller)
  }

  async do(steps: readonly Step[]): Promise<void> {
    const adding = {
      template: this.#addTemplate,
      ehr: this.#addEhr,
      composition: this.#addComposition,
    }
    for (const step of steps) await adding[step.op].call(this, step)
  }

  async #addTemplate({ file }: Step): Promise<void> {
    const opt = readCorpusBytes(`openehr/aql/data/opts/${file}`) as Buffer
    const { status, body } = await sendXml(this.#modeller, 'POST', '/med/knowledge/template', opt)
    // Other suites upload it, too.
    assert.ok(status === 201 || status === 409, JSON.stringify(body))
  }

  async #addEhr({ as = '', status: file = USUAL_STATUS, ehr_id }: Step): Promise<void> {
    // biome-ignore lint/suspicious/noExplicitAny: the test changes it
    const status = readCorpusFile<any>(this.#test, `openehr/aql/data/ehrs/${file}`)
    const { id, namespace } = status.subject.external_ref
    id.value = randomUUID()
    const ehrId = await this.#newEhr(status, ehr_id)
    const { uid } = assertStatus(await this.#person.call('GET', `/med/ehr/${ehrId}/status`))
    this.names.add(as, { '': ehrId, status_uid: uid.value, subject: id.value, subject_ns: namespace })
  }

  /**
   * @param own the id in the corpus, if any: rows are in the order of these ids, so ours must have the same
   * order
   */
  async #newEhr(status: object, own?: string): Promise<string> {
    const { id } = assertStatus(await this.#person.call('POST', '/med/ehr', { status }), 201)
    if (!own) return id
    this.#idsByOwn.set(own, id)
    const ids = [...this.#idsByOwn].sort().map(([, id]) => id)
    if (isDeepStrictEqual(ids, ids.toSorted())) return id
    assertStatus(await this.#person.call('DELETE', `/med/ehr/${id}`), 204)
    return this.#newEhr(status, own)
  }

  async #addComposition({ as = '', file, ehr = '' }: Step): Promise<void> {
    const path = `openehr/aql/data/compositions/${file}`
    const composition = readCorpusFile<{ uid?: { value: string } }>(this.#test, path)
    if (composition.uid) {
      const [own] = composition.uid.value.split('::') as [string]
      // Another suite has committed it. The new id keeps the order.
      composition.uid.value = `${own.slice(0, -12)}${randomUUID().slice(-12)}`
      this.names.add(own, { '': composition.uid.value })
    }
    const jsonPath = `/med/ehr/${this.names.filled(ehr)}/composition/json`
    const { compositionId, uid } = assertStatus(await this.#person.call('POST', jsonPath, composition), 201)
    this.names.add(as, { id: compositionId, uid })
  }

  async rows({ id, q, query_parameters = {}, columns = [] }: Case): Promise<unknown[][]> {
    const answer = assertStatus(await this.#person.call('POST', '/med/aql', { q, query_parameters }))
    const namesOf = (list: { name: string }[]) => list.map(({ name }) => name)
    if (columns.length > 0) assert.deepEqual(namesOf(answer.columns), namesOf(columns), id)
    return answer.rows
  }
}
