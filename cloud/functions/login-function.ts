import type ParseSdk from 'parse/node'

interface LoginRequest {
  params: { username?: unknown; email?: unknown; password?: unknown }
  installationId?: string
}

/** Function `Login`, equal to the route, for clients that only call functions. */
export function defineLoginFunction(Parse: typeof ParseSdk): void {
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
