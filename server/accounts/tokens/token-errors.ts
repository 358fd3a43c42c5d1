/** jose's errors concern the token; other errors are ours. */
export const isTokenError = (error: unknown): boolean =>
  error instanceof TypeError ||
  (error instanceof Error && 'code' in error && /^ERR_J/.test(String(error.code)))
