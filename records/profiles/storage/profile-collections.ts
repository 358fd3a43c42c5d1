/** The collections that are erased with a person, by the names of their documents in an export. */
export const PERSON_COLLECTIONS = {
  person: 'profile.persons',
  picture: 'profile.pictures',
  contact: 'profile.contacts',
  address: 'profile.addresses',
  relation: 'profile.relations',
  connection: 'profile.connections',
} as const

/** Those that are erased with an account. */
export const PROFILE_COLLECTIONS = {
  ...PERSON_COLLECTIONS,
  handover: 'profile.handovers',
  worklistViews: 'profile.worklist-views',
  subscription: 'profile.subscriptions',
} as const
