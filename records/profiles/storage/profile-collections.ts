/** The collections of data about persons, by the names of their documents in an export. */
export const PROFILE_COLLECTIONS = {
  person: 'profile.persons',
  picture: 'profile.pictures',
  contact: 'profile.contacts',
  address: 'profile.addresses',
  relation: 'profile.relations',
  connection: 'profile.connections',
  handover: 'profile.handovers',
  worklistViews: 'profile.worklist-views',
  subscription: 'profile.subscriptions',
} as const
