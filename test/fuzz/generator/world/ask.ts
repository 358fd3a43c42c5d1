/** Who asks. The victim only reads, and nobody else may ever see what they wrote. */
export type Actor = 'ann' | 'ben' | 'admin' | 'victim' | 'nobody'

export type Family = 'path' | 'class'

/** A request, as it goes over the wire. */
export interface Ask {
  actor: Actor
  family: Family
  /** `POST /ehr/{ehrId}/careplan`: by which findings are told apart. */
  route: string
  method: string
  /** With the query, percent-encoded or not. */
  path: string
  headers: Record<string, string>
  body?: Buffer
  /** Its answer is a page, so its refusals may be. */
  page?: boolean
  /** Nothing was done to the credentials: a 401 means that the session is over. */
  loggedIn: boolean
}

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  /** Undefined when the body is no JSON. */
  json: unknown
  ms: number
}

/** What somebody sends to be known, and the facts that their requests are made of. */
export interface Identity {
  /** For the path family. */
  authToken?: string
  /** For the class family. */
  sessionToken?: string
  /** `mvUid`, `ehrId`, `email`, `password`, `refreshToken`: values that fields and parameters of that name take. */
  facts: Record<string, string>
}
