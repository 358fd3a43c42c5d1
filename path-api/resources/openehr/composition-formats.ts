import { toRmJson, toRmObject } from '../../../openehr/compositions/composition-json.ts'
import type { SavedComposition } from '../../../openehr/compositions/compositions.ts'
import type { SimplifiedComposition } from '../../../openehr/compositions/read-composition.ts'
import type { Template } from '../../../openehr/opt/constraints.ts'
import type { RmObject } from '../../../openehr/rm/canonical-json.ts'
import { toXml } from '../../../openehr/rm/canonical-xml.ts'
import { toFlat, toStructured } from '../../../openehr/simplified/simple-tree.ts'
import { toSimplified } from '../../../openehr/simplified/to-simplified.ts'
import { lookUp } from '../../../schemas/validation/look-up.ts'
import type { Context } from '../../operation/context.ts'

/** The media types of the formats of a composition. */
export const COMPOSITION_TYPES = {
  json: 'application/json',
  xml: 'application/xml',
  flat: 'application/openehr.wt.flat+json',
  structured: 'application/openehr.wt.structured+json',
} as const

/** The simplified formats by media type: those of ITS-REST 1.1, and those of EHRbase and its clients. */
const SIMPLIFIED_FORMATS: Readonly<Record<string, SimplifiedComposition['format']>> = {
  [COMPOSITION_TYPES.flat]: 'flat',
  [COMPOSITION_TYPES.structured]: 'structured',
  'application/openehr.wt.flat.schema+json': 'flat',
  'application/openehr.wt.structured.schema+json': 'structured',
}

export const SIMPLIFIED_TYPES: readonly string[] = Object.keys(SIMPLIFIED_FORMATS)

/** The format of a media type; undefined: it is not a simplified one. */
export const simplifiedFormatOf = (mediaType: string): SimplifiedComposition['format'] | undefined =>
  lookUp(SIMPLIFIED_FORMATS, mediaType)

/** A composition in the format of a media type. */
export function writeComposition(template: Template, composition: RmObject, mediaType: string): string {
  if (mediaType === COMPOSITION_TYPES.xml) return toXml(composition, 'composition')
  const simplifiedFormat = simplifiedFormatOf(mediaType)
  if (simplifiedFormat === undefined) return JSON.stringify(composition)
  const tree = toSimplified(template, composition)
  return JSON.stringify(simplifiedFormat === 'flat' ? toFlat(tree) : toStructured(tree))
}

/** A saved composition in the format of a media type; empty if this version marks it as deleted. */
export async function composeText(
  composition: SavedComposition,
  mediaType: string,
  { caller, templates }: Pick<Context<'plan:read'>, 'caller' | 'templates'>,
): Promise<string> {
  // The stored text is canonical JSON.
  if (mediaType === COMPOSITION_TYPES.json) return toRmJson(composition) ?? ''
  const object = toRmObject(composition)
  if (object === undefined) return ''
  if (mediaType === COMPOSITION_TYPES.xml) return toXml(object, 'composition')
  const { template } = await templates.getCached(caller, composition.templateId)
  return writeComposition(template, object, mediaType)
}
