import { type Static, Type } from '@sinclair/typebox'
import { closed } from './common.ts'
import { PictureTypeEnum } from './enum.ts'

export const Picture = closed(
  'Picture',
  "A person's picture as it is stored: without metadata, sized for a screen",
  {
    href: Type.String({ description: 'Path of the picture', examples: ['/profile/n4Fq2LxT0a/picture'] }),
    type: PictureTypeEnum,
    width: Type.Integer({ minimum: 1, description: 'Pixels', examples: [640] }),
    height: Type.Integer({ minimum: 1, description: 'Pixels', examples: [480] }),
    size: Type.Integer({ minimum: 1, description: 'Bytes', examples: [48213] }),
  },
)
export type Picture = Static<typeof Picture>
