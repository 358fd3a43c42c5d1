const UUID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export const isUuid = (id: string): boolean => UUID_PATTERN.test(id)

/** A UUID in small letters; other ids, in which capitals count, as they are. */
export const toLowerCaseUuid = (id: string): string => (isUuid(id) ? id.toLowerCase() : id)
