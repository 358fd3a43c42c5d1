/** The sender. The victim only reads, and nobody else may ever see the victim's data. */
export type Actor = 'ann' | 'ben' | 'admin' | 'victim' | 'nobody'

export type Family = 'path' | 'class'

/** A request as it is sent. */
export interface FuzzRequest {
  actor: Actor
  family: Family
  /** `POST /ehr/{ehrId}/careplan`; distinguishes findings. */
  route: string
  method: string
  /** With the query; may contain characters that are not percent-encoded. */
  path: string
  headers: Record<string, string>
  body?: Buffer
  /** The response is an HTML page, so refusals may be pages, too. */
  page?: boolean
  /** The credentials are intact, so a 401 means that the session has ended. */
  loggedIn: boolean
}

export interface FuzzResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  /** Undefined if the body is not JSON. */
  json: unknown
  ms: number
}

/** An actor's credentials, and facts about the actor that requests use. */
export interface Identity {
  /** For the path family. */
  authToken?: string
  /** For the class family. */
  sessionToken?: string
  /**
   * `mvUid`, `ehrId`, `email`, `password`, `refreshToken`: values for fields and parameters of these names.
   */
  facts: Record<string, string>
}
