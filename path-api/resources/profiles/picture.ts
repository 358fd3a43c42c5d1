import { asConnection } from '../../../records/profiles/profiles.ts'
import { Picture } from '../../../schemas/profiles/picture.ts'
import { defineOperation } from '../../operation/operation.ts'
import { rawBody } from '../../reply/body-media.ts'
import { replyWith } from '../../reply/reply.ts'

const picturePath = '/profile/{mvUid}/picture'
const pictureFile = rawBody('image/png', 'image/jpeg', 'image/webp')

export const pictureOperations = [
  defineOperation({
    id: 'uploadPicture',
    method: 'post',
    path: picturePath,
    summary: 'Upload the picture of a person',
    description:
      'Accepts PNG, JPEG or WebP, at most 2 MB and 25 million pixels. The service re-encodes the picture, at most 1024 pixels wide and high, and removes metadata such as the location.',
    source: 'Endpoints, Profile (persons)',
    access: 'person',
    body: pictureFile,
    limits: { bytes: 2 * 1024 * 1024 },
    reply: [201, Picture, 'versioned'],
    errors: ['RuleViolated'],
    handle: async ({ params: { mvUid }, body }, { caller, profiles }) => {
      const { bytes, version, ...picture } = await profiles.pictures.save(caller, mvUid, body.bytes)
      const location = `/profile/${mvUid}/picture`
      return replyWith({ ...picture, href: location, size: bytes.length }, { version, location })
    },
  }),
  defineOperation({
    id: 'getPicture',
    method: 'get',
    path: picturePath,
    summary: 'Get the picture of a person',
    source: 'what was uploaded can be seen',
    extra: true,
    access: 'connection',
    reply: [200, pictureFile, 'versioned'],
    handle: async ({ params: { mvUid } }, { caller, profiles }) => {
      const { bytes, type, version } = await profiles.pictures.get(asConnection(caller, mvUid), mvUid)
      return replyWith(bytes, { version, headers: { 'content-type': type } })
    },
  }),
  defineOperation({
    id: 'deletePicture',
    method: 'delete',
    path: picturePath,
    summary: 'Delete the picture of a person',
    source: 'what was uploaded can be removed',
    extra: true,
    access: 'person',
    reply: [204],
    handle: ({ params: { mvUid } }, { caller, profiles, ifMatch }) =>
      profiles.pictures.remove(caller, mvUid, ifMatch),
  }),
]
