import type { RequestHandler } from 'express'
import type ParseSdk from 'parse/node'
import { code } from './parse-request.ts'

/**
 * `/Login` and `/1/login` are Parse's own; this keeps passwords out of URLs, where logs and histories find them.
 */
export const loginByPostOnly: RequestHandler = (req, res, next) => {
  if (!/^(\/1)?\/login\/?$/i.test(req.path) || req.method === 'OPTIONS') return next()
  if (req.method !== 'POST') {
    res.set('Allow', 'POST').status(405).json({ code: code.forbidden, error: 'Log in with POST' })
    return
  }
  req.url = req.path
  next()
}

interface LoginRequest {
  params: { username?: unknown; email?: unknown; password?: unknown }
  installationId?: string
}

/** The function `Login`: the same as the route, for clients that only speak functions. */
export function defineLogin(Parse: typeof ParseSdk): void {
  Parse.Cloud.define('Login', async (request: LoginRequest) => {
    const { username, email, password } = request.params
    const name = username ?? email
    if (typeof name !== 'string' || typeof password !== 'string' || name === '' || password === '')
      throw new Parse.Error(Parse.Error.USERNAME_MISSING, 'username/email and password are required.')
    const { installationId } = request
    const user = await Parse.User.logIn(name, password, installationId ? { installationId } : {})
    return { ...user.toJSON(), sessionToken: user.getSessionToken() }
  })
}
