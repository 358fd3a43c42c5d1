import { type Static, Type } from '@sinclair/typebox'
import { closedObject, pathField } from '../common.ts'
import { PictureTypeEnum } from '../enums.ts'

export const Picture = closedObject(
  'Picture',
  'The stored picture of a person: without metadata, scaled for a screen',
  {
    href: pathField('Path of the picture', '/profile/n4Fq2LxT0a/picture'),
    type: PictureTypeEnum,
    width: Type.Integer({ minimum: 1, description: 'Width in pixels', examples: [640] }),
    height: Type.Integer({ minimum: 1, description: 'Height in pixels', examples: [480] }),
    size: Type.Integer({ minimum: 1, description: 'Size of the file in bytes', examples: [48213] }),
  },
)
export type Picture = Static<typeof Picture>
