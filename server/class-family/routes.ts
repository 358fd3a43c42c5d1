import type { RequestHandler } from 'express'

/** Where the class family answers; Express ignores case, as Parse does. */
export const classFamilyPaths = ['/1', '/functions', '/login']

/** Functions have no version in their path, and `/Login` stands beside them. */
export const servesAtRoot = (path: string): boolean => /^\/(functions\/|login\/?$)/i.test(path)

/** The route template for logs and figures: class and function names show, ids do not. */
export const noteRoute: RequestHandler = (req, res, next) => {
  res.locals.route ??= templateOf(req.path)
  next()
}

const known =
  /^(\/1)?\/(functions\/\w{1,64}|login|logout|users|users\/me|batch|requestPasswordReset|verificationEmailRequest)\/?$/i

function templateOf(path: string): string | undefined {
  const [, className, objectId] = /^\/1\/classes\/(\w{1,64})(\/[^/]+)?\/?$/.exec(path) ?? []
  if (className) return `/1/classes/${className}${objectId ? '/{objectId}' : ''}`
  if (path.startsWith('/1/apps/')) return '/1/apps'
  return known.test(path) ? path : undefined
}
