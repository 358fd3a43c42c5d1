/** What handlers and access rules work with; the composition root hands it in, each subject adds its line. */
export interface Services {
  /** Which of the things that the service stands on answer at the moment. */
  readiness(): Promise<Record<string, boolean>>
}
