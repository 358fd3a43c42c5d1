import { STRUCTURES } from '../../../records/fhir/elements.ts'
import type { Profiles } from '../../../records/profiles/profiles.ts'

type ItemOf<List extends (...args: never) => Promise<{ items: readonly unknown[] }>> = Awaited<
  ReturnType<List>
>['items'][number]
export type StoredContact = ItemOf<Profiles['contacts']['list']>
export type StoredAddress = ItemOf<Profiles['addresses']['list']>

const SYSTEMS = { PHONE: 'phone', MOBILE: 'phone', FAX: 'fax', EMAIL: 'email', SKYPE: 'other' } as const
const USES = { HOME: 'home', WORK: 'work' } as const

/** The primary contact of a type has the rank 1. */
const contactPointOf = ({ type, value, usage, primary }: StoredContact) => ({
  system: SYSTEMS[type],
  value,
  ...(type === 'MOBILE' ? { use: 'mobile' } : usage && { use: USES[usage] }),
  ...(primary && { rank: 1 }),
})

const locationOf = (latitude: number, longitude: number) => ({
  url: `${STRUCTURES}/geolocation`,
  extension: Object.entries({ latitude, longitude }).map(([url, valueDecimal]) => ({ url, valueDecimal })),
})

function addressOf({
  usage,
  streetAddress,
  locality,
  region,
  postalCode,
  country,
  lat,
  lng,
}: StoredAddress): object {
  return {
    ...(lat !== null && lng !== null && { extension: [locationOf(lat, lng)] }),
    ...(usage === 'HOME' ? { use: 'home' } : { type: 'postal' }),
    ...(streetAddress && { line: [streetAddress] }),
    ...(locality && { city: locality }),
    ...(region && { state: region }),
    ...(postalCode && { postalCode }),
    ...(country && { country }),
  }
}

/** The contact points of a person. */
export const contactElements = (
  contacts: readonly StoredContact[],
  addresses: readonly StoredAddress[],
): object => ({
  ...(contacts.length > 0 && { telecom: contacts.map(contactPointOf) }),
  ...(addresses.length > 0 && { address: addresses.map(addressOf) }),
})

/** The nationality of a patient; of other people FHIR has no extension for it. */
export const nationalityOf = (country: string | null) =>
  country === null
    ? {}
    : {
        extension: [
          {
            url: `${STRUCTURES}/patient-nationality`,
            extension: [
              {
                url: 'code',
                valueCodeableConcept: { coding: [{ system: 'urn:iso:std:iso:3166', code: country }] },
              },
            ],
          },
        ],
      }
