import type { Db } from 'mongodb'
import { HELD_BY } from '../../../measurements/compositions/held.ts'
import type { MeasurementKind } from '../../../measurements/measurement.ts'
import { documentsOf } from '../../../store/documents/database.ts'
import { ARCHETYPES_INDEX, Composition, FACTS_INDEX } from '../../composition-record.ts'
import { repeatsOf, timesIn } from '../../compositions/facts.ts'
import { headOf } from '../../measured/composition-of.ts'
import { constantOf } from '../evaluation/predicates.ts'
import type { ClassNode, Query } from '../language/ast.ts'
import { QUERY_MS } from '../pace.ts'

/**
 * The archetype whose nodes a query counts in the compositions of all EHRs, and nothing else: indexes know that.
 * `SELECT COUNT(*) FROM EHR e CONTAINS COMPOSITION c CONTAINS OBSERVATION o[openEHR-EHR-OBSERVATION.pulse.v2]`
 */
export function countedIn({ columns, from, where, limit, offset }: Query): string | undefined {
  const [column, ...others] = columns
  const { expression } = column ?? {}
  const isCount = expression?.kind === 'aggregate' && expression.name === 'COUNT' && !expression.path
  if (!isCount || others.length > 0 || where || limit !== undefined || offset !== undefined) return undefined
  let node: ClassNode | undefined = from
  for (const around of ['EHR', 'COMPOSITION'])
    if (node?.rmType === around && !node.predicate && node.contains) node = withinOf(node)
  const { predicate, contains, rmType = '' }: Partial<ClassNode> = node ?? {}
  const id = predicate?.kind === 'node' && !predicate.name ? constantOf(predicate.id) : undefined
  const isOfClass = typeof id === 'string' && id.startsWith(`openEHR-EHR-${rmType}.`)
  return isOfClass && !contains ? id : undefined
}

const withinOf = ({ contains }: ClassNode): ClassNode | undefined =>
  contains && !contains.negated && contains.what.kind === 'class' ? contains.what : undefined

/** So many are looked at one by one. */
const MOST = 1000

/** @returns how many nodes of an archetype there are; undefined: indexes alone do not tell */
export async function countOfArchetype(
  db: Db,
  kinds: readonly MeasurementKind[],
  archetypeId: string,
  withheld: ReadonlySet<string>,
): Promise<number | undefined> {
  if (withheld.size > MOST) return undefined
  const hidden = { ehrId: { $in: [...withheld] } }
  const compositions = documentsOf({ db }, Composition.collection)
  const repeating = await compositions
    .find({ facts: repeatsOf(archetypeId) }, { maxTimeMS: QUERY_MS, projection: { facts: 1, ehrId: 1 } })
    .hint(FACTS_INDEX)
    .limit(MOST + 1)
    .toArray()
  if (repeating.length > MOST) return undefined
  const repeats = repeating.filter(({ ehrId }) => !withheld.has(String(ehrId)))
  const more = repeats.map(({ facts }) => timesIn(facts as string[], archetypeId) - 1)
  const found = { archetypes: archetypeId }
  const counted = { maxTimeMS: QUERY_MS, hint: ARCHETYPES_INDEX }
  const [all, some] = [
    await compositions.countDocuments(found, counted),
    withheld.size > 0 ? await compositions.countDocuments({ ...found, ...hidden }, counted) : 0,
  ]
  const measured = kinds.filter((kind) => headOf(kind).archetypes.includes(archetypeId))
  const typedIn = await Promise.all(measured.map((kind) => typedInOf(db, kind, withheld.size > 0 && hidden)))
  return [all - some, ...more, ...typedIn].reduce((sum, one) => sum + one, 0)
}

async function typedInOf(db: Db, { collection }: MeasurementKind, hidden: object | false): Promise<number> {
  const documents = documentsOf({ db }, collection)
  const options = { maxTimeMS: QUERY_MS }
  const [all, held, some] = await Promise.all([
    documents.countDocuments({}, options),
    documents.countDocuments(HELD_BY, options),
    hidden ? documents.countDocuments({ compositionId: null, ...hidden }, options) : 0,
  ])
  return all - held - some
}
