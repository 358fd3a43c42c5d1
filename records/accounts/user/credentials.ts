/** What a new account is made of. */
export interface NewAccount {
  email: string
  password: string
  name?: string | undefined
  language?: string | undefined
  /** What the person logs in with besides the address; by default the address. */
  username?: string | undefined
  /** Agreed to by the person; absent until then. */
  termsVersion?: string
  /** Made by an administrator: activated by choosing a password. */
  invited?: true
  /** Its id, when somebody knows it already. */
  id?: string | undefined
}

/** What a login in the class family answers: the user, with the session token. */
export type LoggedIn = { sessionToken: string } & Record<string, unknown>

/**
 * Passwords, activation, reset, lockout and sessions: what Parse Server does for both families, as the path family
 * asks for it. Addresses are given in lower case.
 */
export interface Credentials {
  /**
   * Makes an account and mails the link that activates it, unless an administrator makes it.
   * @returns its id @throws Conflict when the address is taken; RuleViolated by the password
   */
  signUp(account: NewAccount): Promise<string>
  /**
   * Begins a session. A wrong password and an unknown address cost the same.
   * @param installationId the device, as SDKs of the class family name theirs
   * @throws InvalidCredentials, AccountLocked
   */
  logIn(email: string, password: string, installationId?: string): Promise<LoggedIn>
  /** Begins a session of someone whom another party vouches for. @returns the session token */
  beginSession(mvUid: string, authProvider: string): Promise<string>
  /** The same checks as logIn, without a session. @throws as logIn */
  checkPassword(email: string, password: string): Promise<void>
  /** Mails a new activation link; the one before is void. */
  resendActivation(email: string): Promise<void>
  /** Mails a link to choose a new password; nothing happens when the address is unknown. */
  sendReset(email: string): Promise<void>
  /** A token to choose a password with, for a link of our own. @param days for which it is valid */
  passwordToken(email: string, days: number): Promise<string>
  /**
   * Sets the password of the token's account; all its sessions end.
   * @throws LinkExpired; RuleViolated for a password that was used lately
   */
  resetPassword(token: string, newPassword: string): Promise<void>
  /** Sets a password; all sessions end. @throws RuleViolated for a password that was used lately */
  changePassword(mvUid: string, newPassword: string): Promise<void>
  /** Makes Parse Server forget what it cached of sessions that were ended behind its back. */
  forgetSessions(tokens: readonly string[]): Promise<void>
  /** Makes Parse Server forget what it cached of roles that were given or taken behind its back. */
  forgetRoles(): Promise<void>
}
