import { useQuery } from '@tanstack/react-query'
import { ageInYears, formatDate } from '../../texts/format.ts'
import { translateName, useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { bannerQuery } from './banner-query.ts'

/** The identity of the patient, on every page about them: name, date of birth, age and reactions. */
export function PatientBanner({ ehrId }: { ehrId: string }) {
  const t = useText()
  const banner = useQuery(bannerQuery(ehrId))
  return (
    <Loaded query={banner} lines={2}>
      {({ name, birthDate, gender, reactions }) => (
        <section className="panel banner" aria-label={t('patient.banner')}>
          <Heading title={name ?? t('patient.unnamed', { ehrId })} />
          <p>
            {birthDate
              ? `${t('patient.born', { date: formatDate(birthDate) })}, ${t('patient.age', { years: ageInYears(birthDate) })}`
              : t('patient.noBirthDate')}
            {gender && `, ${translateName(`gender.${gender}`, gender)}`}
          </p>
          <h2>{t('record.reactions')}</h2>
          {reactions.length === 0 && <p>{t('record.none')}</p>}
          <ul className="reactions">
            {reactions.map(({ id, substance, criticality }) => (
              <li key={id}>
                <span className={criticality === 'high' ? 'band bad' : 'band warn'}>
                  {substance}
                  {criticality && ` (${translateName(`word.${criticality}`, criticality)})`}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </Loaded>
  )
}
