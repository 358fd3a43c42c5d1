import type { Filter } from 'mongodb'
import type { PatientCard } from '../../schemas/worklist/patient-card.ts'
import type { WorklistEntry } from '../../schemas/worklist/worklist-entry.ts'
import type { Ehrs } from '../ehrs/ehrs.ts'
import { type EhrAccessFields, hasUserIdFormat, subjectOf } from '../ehrs/rights/access.ts'
import { type AnonymizedEhrIds, findAnonymizedEhrs } from '../ehrs/rights/anonymity.ts'
import type { Profiles } from '../profiles/profiles.ts'
import { type Caller, permissionFilter } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import type { StoreContext } from '../store/writing/transaction.ts'

/** The people whom EHRs are about, as far as those who read the EHRs may know them. */
export class PatientCards {
  readonly #context: StoreContext
  readonly #ehrs: Pick<Ehrs, 'get'>
  readonly #persons: Profiles['persons']

  constructor(context: StoreContext, ehrs: Pick<Ehrs, 'get'>, { persons }: Pick<Profiles, 'persons'>) {
    this.#context = context
    this.#ehrs = ehrs
    this.#persons = persons
  }

  /** @throws NotFound */
  async get(caller: Caller, ehrId: string): Promise<PatientCard> {
    await this.#ehrs.get(caller, ehrId)
    const anonymizedIds = await findAnonymizedEhrs(this.#context, caller)
    return (await this.#find(caller, [ehrId], anonymizedIds)).get(ehrId) ?? emptyCard(ehrId)
  }

  /**
   * Finds the people of EHRs that the caller may read, by EHR; not audited. Nobody is named in anonymous care plans, and
   * no user before they accept the EHR. A helper does not see the profile.
   */
  async #find(
    caller: Caller,
    ehrIds: readonly string[],
    anonymizedIds: AnonymizedEhrIds,
  ): Promise<Map<string, PatientCard>> {
    const readable = { _id: { $in: ehrIds }, ...permissionFilter('_rperm', caller) } as Filter<ParseDocument>
    const ehrs = (await documentCollection(this.#context, 'Ehr')
      .find(readable)
      .toArray()) as EhrAccessFields[]
    const namedEhrs = ehrs.filter(({ _id }) => !anonymizedIds.has(_id))
    const subjects = caller.helper ? [] : namedEhrs.flatMap((ehr) => subjectOf(ehr) ?? [])
    const persons = await this.#persons.cardsOf(subjects)
    return new Map(
      namedEhrs.map((ehr) => {
        const person = persons.get(subjectOf(ehr) ?? '')
        const { name, birthDate = null, gender = null } = person ?? {}
        return [ehr._id, { ehrId: ehr._id, name: name?.displayName ?? referenceIn(ehr), birthDate, gender }]
      }),
    )
  }

  /**
   * Adds the names of the patients, and of the users who have taken alerts. Those who see an EHR only through anonymous care
   * plans learn no names.
   */
  async addNames(caller: Caller, entries: readonly WorklistEntry[]): Promise<WorklistEntry[]> {
    const anonymizedIds = await findAnonymizedEhrs(this.#context, caller)
    const isNamed = ({ ehrId }: WorklistEntry): boolean => !anonymizedIds.has(ehrId)
    const takers = entries
      .filter(isNamed)
      .flatMap(({ openAlerts }) => openAlerts.map(({ takenBy }) => takenBy))
    const ehrIds = entries.map(({ ehrId }) => ehrId)
    const [cards, names] = await Promise.all([
      this.#find(caller, ehrIds, anonymizedIds),
      this.#persons.namesOf(takers.filter((mvUid) => mvUid !== null)),
    ])
    return entries.map((entry) => {
      const { name, birthDate } = cards.get(entry.ehrId) ?? emptyCard(entry.ehrId)
      const openAlerts = entry.openAlerts.map((alert) => ({
        ...alert,
        takenByName: (isNamed(entry) && names.get(alert.takenBy ?? '')) || null,
      }))
      return { ...entry, name, birthDate, openAlerts }
    })
  }
}

const emptyCard = (ehrId: string): PatientCard => ({ ehrId, name: null, birthDate: null, gender: null })

/** The reference to a person without an account, which is the only name that such a person has. */
const referenceIn = ({ subjectId }: EhrAccessFields): string | null =>
  typeof subjectId === 'string' && !hasUserIdFormat(subjectId) ? subjectId : null
