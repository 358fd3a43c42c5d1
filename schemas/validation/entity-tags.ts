import { toLowerCaseUuid } from './uuid.ts'

const ENTITY_TAG_LIST =
  /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:[ \t]*,[ \t]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")*$/
/**
 * Matches strong tags. A suffix after a dot identifies included records. A prefix identifies the object and system of an
 * openEHR version: `8849…::hrs.local::3`.
 */
const STRONG_VERSION_TAG = /(?<!W\/)"(?:([\w-]{1,64})::[\w.-]{1,64}::)?(\d{1,15})(?:\.[\w-]{1,40})?"/g

/** Whether a text is a list of entity tags (RFC 9110, 8.8.3). */
export const isEntityTagList = (text: string): boolean => ENTITY_TAG_LIST.test(text)

/**
 * The versions in the strong tags of a list. Weak and foreign tags name none.
 * @param ids versions of other objects are left out
 */
export const versionsInTags = (list: string, ids: readonly string[] = []): number[] =>
  [...list.matchAll(STRONG_VERSION_TAG)].flatMap(([, id, version]) =>
    id === undefined || ids.some((one) => isSameObject(one, id)) ? [Number(version)] : [],
  )

/** @param uid an id in a path, with or without a version */
const isSameObject = (uid: string, id: string): boolean =>
  toLowerCaseUuid(uid.split('::')[0] ?? '') === toLowerCaseUuid(id)

/** Whether a list names a tag by weak comparison, or any tag by `*`. */
export const isTagListed = (list: string, tag: string): boolean =>
  list.split(',').some((one) => {
    const trimmed = one.trim()
    return trimmed === '*' || trimmed.replace(/^W\//, '') === tag.replace(/^W\//, '')
  })
