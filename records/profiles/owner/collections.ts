/** The collections of what is kept about persons, by the names that an export gives their documents. */
export const collections = {
  person: 'profile.persons',
  picture: 'profile.pictures',
  contact: 'profile.contacts',
  address: 'profile.addresses',
  relation: 'profile.relations',
  connection: 'profile.connections',
} as const
