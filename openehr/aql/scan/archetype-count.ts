import type { Db } from 'mongodb'
import { COMPOSITION_INDEX_KEYS, Composition } from '../../../records/compositions/composition-record.ts'
import { documentCollection } from '../../../records/store/documents/database.ts'
import type { CompositionView } from '../../composition-views/composition-view.ts'
import { type Fact, occurrenceCount, repeatedArchetypeFilter } from '../../compositions/facts.ts'
import { constantValue } from '../evaluation/path-evaluator.ts'
import type { ClassNode, QueryTree } from '../language/ast.ts'
import { AQL_TIMEOUT_MS } from '../timeout.ts'

/**
 * The archetype, if a query only counts the nodes of one archetype in all EHRs: indexes alone can answer
 * that. `SELECT COUNT(*) FROM EHR e CONTAINS COMPOSITION c CONTAINS OBSERVATION
 * o[openEHR-EHR-OBSERVATION.pulse.v2]`
 */
export function countedArchetype({ columns, from, where, limit, offset }: QueryTree): string | undefined {
  const [column, ...others] = columns
  const { expression } = column ?? {}
  const isCount = expression?.kind === 'aggregate' && expression.name === 'COUNT' && !expression.path
  if (!isCount || others.length > 0 || where || limit !== undefined || offset !== undefined) return undefined
  let node: ClassNode | undefined = from
  for (const around of ['EHR', 'COMPOSITION'])
    if (node?.rmType === around && !node.predicate && node.contains) node = soleContainedClass(node)
  const { predicate, contains, rmType = '' }: Partial<ClassNode> = node ?? {}
  const id = predicate?.kind === 'node' && !predicate.name ? constantValue(predicate.id) : undefined
  const isOfClass = typeof id === 'string' && id.startsWith(`openEHR-EHR-${rmType}.`)
  return isOfClass && !contains ? id : undefined
}

const soleContainedClass = ({ contains }: ClassNode): ClassNode | undefined =>
  contains && !contains.isNegated && contains.containment.kind === 'class' ? contains.containment : undefined

/** Maximum number of exceptions that are read one by one. */
const MAX_COUNTED_SINGLY = 1000

/** @returns the number of nodes of an archetype; undefined if indexes alone cannot answer */
export async function countArchetypeByIndex(
  db: Db,
  views: readonly CompositionView[],
  archetypeId: string,
  withheldIds: ReadonlySet<string>,
): Promise<number | undefined> {
  if (withheldIds.size > MAX_COUNTED_SINGLY) return undefined
  const hiddenFilter = withheldIds.size > 0 && { ehrId: { $in: [...withheldIds] } }
  const compositions = documentCollection({ db }, Composition.collection)
  const hasArchetype = { archetypes: archetypeId }
  const options = { maxTimeMS: AQL_TIMEOUT_MS, hint: COMPOSITION_INDEX_KEYS.archetypes }
  const archetypeViews = views.filter(({ head }) => head.archetypes.includes(archetypeId))
  const [repeating, compositionCount, withheldCount, ...counts] = await Promise.all([
    findRepeating(db, archetypeId),
    compositions.countDocuments(hasArchetype, options),
    hiddenFilter ? compositions.countDocuments({ ...hasArchetype, ...hiddenFilter }, options) : 0,
    ...archetypeViews.map((view) => countShown(db, view, hiddenFilter)),
  ])
  if (repeating.length > MAX_COUNTED_SINGLY) return undefined
  const repeats = repeating.filter(({ ehrId }) => !withheldIds.has(String(ehrId)))
  const more = repeats.map(({ facts }) => occurrenceCount(facts as Fact[], archetypeId) - 1)
  return [compositionCount - withheldCount, ...more, ...counts].reduce((sum, one) => sum + one, 0)
}

/** The compositions in which the archetype occurs more than once. At most MAX_COUNTED_SINGLY + 1, which means too many. */
const findRepeating = (db: Db, archetypeId: string) =>
  documentCollection({ db }, Composition.collection)
    .find(
      { facts: repeatedArchetypeFilter(archetypeId) },
      { maxTimeMS: AQL_TIMEOUT_MS, projection: { facts: 1, ehrId: 1 } },
    )
    .hint(COMPOSITION_INDEX_KEYS.facts)
    .limit(MAX_COUNTED_SINGLY + 1)
    .toArray()

async function countShown(
  db: Db,
  { kind, filters }: CompositionView,
  hiddenFilter: object | false,
): Promise<number> {
  const documents = documentCollection({ db }, kind.collection)
  const options = { maxTimeMS: AQL_TIMEOUT_MS }
  const [totalCount, otherCount, hiddenCount] = await Promise.all([
    documents.countDocuments({}, options),
    filters ? documents.countDocuments(filters.others, options) : 0,
    hiddenFilter ? documents.countDocuments({ ...filters?.shown, ...hiddenFilter }, options) : 0,
  ])
  return totalCount - otherCount - hiddenCount
}
