import type { XmlElement } from '../formats/xml.ts'
import type { Interval } from './constraints.ts'

/** How the elements of an operational template are read, whatever they say. */

export const childrenOf = (xml: XmlElement | undefined, name: string): XmlElement[] =>
  xml?.children.filter((child) => child.name === name) ?? []

export const childOf = (xml: XmlElement | undefined, name: string): XmlElement | undefined =>
  xml?.children.find((child) => child.name === name)

/** The text of an element somewhere below; empty: there is none. */
export const textOf = (xml: XmlElement | undefined, ...path: string[]): string =>
  path.reduce<XmlElement | undefined>(childOf, xml)?.text.trim() ?? ''

export const textsOf = (xml: XmlElement | undefined, name: string): string[] =>
  childrenOf(xml, name).map(({ text }) => text)

function intervalOf<T>(
  xml: XmlElement | undefined,
  read: (text: string) => T | undefined,
): Interval<T> | undefined {
  if (xml === undefined) return undefined
  const end = (name: string) => {
    const text = textOf(xml, name)
    return text === '' || textOf(xml, `${name}_unbounded`) === 'true' ? undefined : read(text)
  }
  const [lower, upper] = [end('lower'), end('upper')]
  return {
    ...(lower !== undefined && { lower }),
    ...(upper !== undefined && { upper }),
    lowerIncluded: textOf(xml, 'lower_included') !== 'false',
    upperIncluded: textOf(xml, 'upper_included') !== 'false',
  }
}

const numberIn = (text: string): number | undefined => {
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}

export const numbersOf = (xml: XmlElement | undefined): Interval | undefined => intervalOf(xml, numberIn)

/** How many, or how often: never less than none. */
export const integersOf = (xml: XmlElement | undefined): Interval | undefined =>
  intervalOf(xml, (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined))

export const rangeOfTexts = (xml: XmlElement | undefined): Interval<string> | undefined =>
  intervalOf(xml, (text) => text)
