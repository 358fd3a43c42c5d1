import { LRUCache } from 'lru-cache'
import type { QueryTree } from './language/ast.ts'
import { parseQuery } from './language/parse-query.ts'
import { tokenize } from './language/tokenizer.ts'

/** The trees of the last texts take at most some 20 MB: a tree has some ten times the length of its text. */
const MAX_TEXTS = 200
const MAX_TEXT_LENGTH = 10_000

/** Clients send few texts, with parameters that vary, so the last ones are kept. */
function keepLast<V extends object | string>(read: (q: string) => V): (q: string) => V {
  const results = new LRUCache<string, V>({ max: MAX_TEXTS })
  return (q) => {
    const result = results.get(q) ?? read(q)
    if (q.length <= MAX_TEXT_LENGTH) results.set(q, result)
    return result
  }
}

/** Parses a query. Nobody may change the tree, which other requests share. @throws as parseQuery */
export const parseQueryOnce: (q: string) => QueryTree = keepLast(parseQuery)

/** The query without its values, for the audit. */
export const withoutValues: (q: string) => string = keepLast((q) =>
  tokenize(q)
    .map(({ kind, text }) =>
      kind === 'string' || kind === 'number' ? '?' : kind === 'parameter' ? `$${text}` : text,
    )
    .join(' ')
    .trim(),
)
