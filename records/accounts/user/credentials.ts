/** How long the link of a mail about a new password works, as the mail says. */
export const PASSWORD_LINK_TTL_S = 3600

export interface NewAccount {
  email: string
  password: string
  name?: string | undefined
  language?: string | undefined
  /** A login name in addition to the address; by default the address. */
  username?: string | undefined
  /** The version of the terms that the person agreed to; absent until then. */
  termsVersion?: string
  /** Created by an administrator; activated when the person chooses a password. */
  invited?: true
  /** The id, if the response has already named it. */
  id?: string | undefined
}

/** The response to a login in the class family: the user, with the session token. */
export type LoginResult = { sessionToken: string } & Record<string, unknown>

/**
 * Passwords, activation, reset and sessions, which Parse Server implements for both families.
 * Addresses are in lower case.
 */
export interface Credentials {
  /**
   * Creates an account and mails its activation link, unless an administrator creates it.
   * @returns its id
   * @throws Conflict when the address is taken; RuleViolated for the password
   */
  signUp(account: NewAccount): Promise<string>
  /**
   * Begins a session. A wrong password and an unknown address cost the same time.
   * @param installationId the device, as SDKs of the class family name theirs
   * @throws InvalidCredentials
   */
  logIn(email: string, password: string, installationId?: string): Promise<LoginResult>
  /** Begins a session for a user whom an external provider has identified. @returns the session token */
  beginSession(mvUid: string, authProvider: string): Promise<string>
  /** Whether this is the password of an account; counts nothing. */
  matchesPassword(mvUid: string, password: string): Promise<boolean>
  /** Mails a new activation link and voids the previous one. */
  resendActivation(email: string): Promise<void>
  /**
   * Mails a link for choosing a new password; does nothing when the address is unknown. Anybody can ask for it, so it does
   * not void an earlier link.
   */
  sendPasswordReset(email: string): Promise<void>
  /** Creates a token for choosing a password, for a link of our own. @param days for which it is valid */
  createPasswordToken(email: string, days: number): Promise<string>
  /**
   * Sets the password of the token's account and ends all its sessions.
   * @throws LinkExpired; RuleViolated for a recently used password
   */
  resetPassword(token: string, newPassword: string): Promise<void>
  /**
   * Requires a password that can be set.
   * @param username the new username, if that changes, too
   * @throws RuleViolated for a recently used password, or one that contains the username
   */
  requireAllowedPassword(mvUid: string, password: string, username?: string): Promise<void>
  /** Sets a password and ends all sessions. @throws RuleViolated for a recently used password */
  changePassword(mvUid: string, newPassword: string): Promise<void>
  /** Clears Parse Server's cache of sessions after some have ended. */
  forgetSessions(): Promise<void>
  /** Clears Parse Server's cache of roles that were changed without it. */
  forgetRoles(): Promise<void>
}
