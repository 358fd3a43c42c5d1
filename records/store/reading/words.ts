/** Letters that Unicode does not take apart into a plain one and a mark. */
const PLAIN: Readonly<Record<string, string>> = {
  ...{ ø: 'o', ł: 'l', đ: 'd', ð: 'd', ħ: 'h', ı: 'i', ŧ: 't' },
  ...{ æ: 'ae', œ: 'oe', þ: 'th' },
}

/** Upper case first: ß and the two small sigmas have one form only there. */
const inOneCase = (text: string): string => text.toUpperCase().toLowerCase()

/** A text as two writings of the same have it that differ in case and blanks. */
export const sameWriting = (text: string): string =>
  inOneCase(text.normalize('NFKC')).replace(/\s+/g, ' ').trim()

/** The different words of texts, by which they are found: without case and diacritics. */
export function wordsOf(...texts: unknown[]): string[] {
  const text = texts.filter((one) => typeof one === 'string').join('\n')
  const plain = inOneCase(text.normalize('NFKD').replace(/\p{M}/gu, '')).replace(
    /[øłđðħıŧæœþ]/g,
    (letter) => PLAIN[letter] ?? letter,
  )
  return [...new Set(plain.match(/[\p{L}\p{N}]+/gu))]
}
