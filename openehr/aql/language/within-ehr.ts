import type { Predicate, QueryTree } from './ast.ts'

/** Limits a query to one EHR. */
export function limitToEhr(query: QueryTree, ehrId: string | undefined): QueryTree {
  if (ehrId === undefined) return query
  const { from } = query
  const ehrPredicate: Predicate = {
    kind: 'comparison',
    path: [{ attribute: 'ehr_id' }, { attribute: 'value' }],
    operator: '=',
    to: { kind: 'literal', value: ehrId, position: from.position },
  }
  if (from.rmType !== 'EHR')
    return {
      ...query,
      from: {
        kind: 'class',
        rmType: 'EHR',
        predicate: ehrPredicate,
        position: from.position,
        contains: { isNegated: false, containment: from },
      },
    }
  const { predicate } = from
  return {
    ...query,
    from: {
      ...from,
      predicate: predicate ? { kind: 'and', terms: [ehrPredicate, predicate] } : ehrPredicate,
    },
  }
}
