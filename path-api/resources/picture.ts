import { asConnection } from '../../records/profiles/profiles.ts'
import { Picture } from '../../schemas/picture.ts'
import { answer } from '../answer/answer.ts'
import { raw } from '../answer/media.ts'
import { operation } from '../operation/operation.ts'

const path = '/profile/{mvUid}/picture'
const pictureFile = raw('image/png', 'image/jpeg', 'image/webp')

export const picture = [
  operation({
    id: 'uploadPicture',
    method: 'post',
    path,
    summary: 'Upload the picture of a person',
    description:
      'PNG, JPEG or WebP, at most 2 MB and 25 million pixels. The picture is encoded anew, at most 1024 pixels wide and high; metadata such as the location is removed.',
    source: 'Endpoints, Profile (persons)',
    access: 'person',
    body: pictureFile,
    limits: { bytes: 2 * 1024 * 1024 },
    reply: [201, Picture, 'versioned'],
    errors: ['RuleViolated'],
    handle: async ({ params: { mvUid }, body }, { caller, profiles }) => {
      const { bytes, version, ...kept } = await profiles.pictures.save(caller, mvUid, body.bytes)
      const location = `/profile/${mvUid}/picture`
      return answer({ ...kept, href: location, size: bytes.length }, { version, location })
    },
  }),
  operation({
    id: 'getPicture',
    method: 'get',
    path,
    summary: 'Get the picture of a person',
    source: 'what was uploaded can be seen',
    extra: true,
    access: 'connection',
    reply: [200, pictureFile, 'versioned'],
    handle: async ({ params: { mvUid } }, { caller, profiles }) => {
      const { bytes, type, version } = await profiles.pictures.get(asConnection(caller, mvUid), mvUid)
      return answer(bytes, { version, headers: { 'content-type': type } })
    },
  }),
  operation({
    id: 'deletePicture',
    method: 'delete',
    path,
    summary: 'Remove the picture of a person',
    source: 'what was uploaded can be removed',
    extra: true,
    access: 'person',
    reply: [204],
    handle: ({ params: { mvUid } }, { caller, profiles, expected }) =>
      profiles.pictures.remove(caller, mvUid, expected),
  }),
]
