/** Whether a value is `{"<user, role or *>": {"read": true, "write": true}}`. */
export const isAcl = (value: unknown): boolean =>
  isPlain(value) &&
  Object.values(value).every(
    (rights) =>
      isPlain(rights) &&
      Object.entries(rights).every(
        ([right, given]) => /^(read|write)$/.test(right) && typeof given === 'boolean',
      ),
  )

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
