import type { Predicate, QueryTree } from './ast.ts'

/** Limits a query to one EHR. */
export function limitToEhr(query: QueryTree, ehrId: string | undefined): QueryTree {
  if (ehrId === undefined) return query
  const { from } = query
  const own: Predicate = {
    kind: 'comparison',
    path: [{ attribute: 'ehr_id' }, { attribute: 'value' }],
    operator: '=',
    to: { kind: 'literal', value: ehrId, at: from.at },
  }
  if (from.rmType !== 'EHR')
    return {
      ...query,
      from: {
        kind: 'class',
        rmType: 'EHR',
        predicate: own,
        at: from.at,
        contains: { isNegated: false, what: from },
      },
    }
  const { predicate } = from
  return {
    ...query,
    from: { ...from, predicate: predicate ? { kind: 'and', terms: [own, predicate] } : own },
  }
}
