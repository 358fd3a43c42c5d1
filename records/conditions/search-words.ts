/** Letters that Unicode does not decompose into a base letter and a mark. */
const LETTER_REPLACEMENTS: Readonly<Record<string, string>> = {
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ı: 'i',
  ŧ: 't',
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
}

/** Converts to upper case first: ß and the two small forms of sigma are one letter only there. */
const foldCase = (text: string): string => text.toUpperCase().toLowerCase()

/** Normalizes a text, so that spellings that differ in case and spaces become equal. */
export const normalizeText = (text: string): string =>
  foldCase(text.normalize('NFKC')).replace(/\s+/g, ' ').trim()

/** A text in which spellings with other case, diacritics or signs are equal. */
export const foldText = (text: string): string => searchWordsOf(text).join(' ')

/** The texts of some fields for a search by their beginnings, each after the name of its field. */
export const searchTextsOf = (
  fields: readonly string[],
  values: Readonly<Record<string, unknown>>,
): string[] =>
  fields.flatMap((field) =>
    values[field] === undefined ? [] : `${field} ${foldText(String(values[field]))}`,
  )

/** The distinct search words of texts, without case and diacritics. */
export function searchWordsOf(...texts: unknown[]): string[] {
  const text = texts.filter((one) => typeof one === 'string').join('\n')
  const plain = foldCase(text.normalize('NFKD').replace(/\p{M}/gu, '')).replace(
    /[øłđðħıŧæœþ]/g,
    (letter) => LETTER_REPLACEMENTS[letter] ?? letter,
  )
  return [...new Set(plain.match(/[\p{L}\p{N}]+/gu))]
}
