/** Whether a value has the form `{"<user, role or *>": {"read": true, "write": true}}`. */
export const isAcl = (value: unknown): boolean =>
  isPlainObject(value) &&
  Object.values(value).every(
    (rights) =>
      isPlainObject(rights) &&
      Object.entries(rights).every(
        ([right, flag]) => /^(read|write)$/.test(right) && typeof flag === 'boolean',
      ),
  )

const isPlainObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
