import { useQuery } from '@tanstack/react-query'
import { certaintyWord, isRetracted } from '../../texts/certainty.ts'
import { ageInYears, formatDate } from '../../texts/format.ts'
import { isolate, translateName, useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { type BannerReaction, bannerQuery, isDangerous, isPast } from './banner-query.ts'

interface PatientBannerProps {
  ehrId: string
  /** Whether the name is the heading of the page. */
  isHeading?: boolean
}

/** The identity of the patient, on every page about them: name, date of birth, age and reactions. */
export function PatientBanner({ ehrId, isHeading }: PatientBannerProps) {
  const t = useText()
  const banner = useQuery(bannerQuery(ehrId))
  return (
    <Loaded query={banner} lines={3}>
      {({ name, birthDate, gender, reactions }) => (
        <section className="panel banner" aria-label={t('patient.banner')}>
          <PatientName name={name ?? t('patient.unnamed', { ehrId })} isHeading={isHeading} />
          <p>
            {birthDate
              ? `${t('patient.born', { date: formatDate(birthDate) })}, ${t('patient.age', { years: ageInYears(birthDate) })}`
              : t('patient.noBirthDate')}
            {gender && `, ${translateName(`gender.${gender}`, gender)}`}
          </p>
          <h2>{t('record.reactions')}</h2>
          <Reactions reactions={reactions.filter(({ verification }) => !isRetracted(verification))} />
        </section>
      )}
    </Loaded>
  )
}

/** Whether the person still has it, how sure that is, and how dangerous it is. */
const factsOf = ({ status, verification, criticality }: BannerReaction): string[] => {
  const words = [status === 'active' ? null : status, criticality].map(
    (one) => one && translateName(`word.${one}`, one),
  )
  return [certaintyWord(verification), ...words].filter((one) => typeof one === 'string')
}

const levelOf = (reaction: BannerReaction): string => {
  if (isPast(reaction)) return 'past'
  return isDangerous(reaction) ? 'bad' : 'warn'
}

function Reactions({ reactions }: { reactions: readonly BannerReaction[] }) {
  const t = useText()
  if (reactions.length === 0) return <p>{t('record.none')}</p>
  return (
    <ul className="reactions">
      {reactions.map((reaction) => {
        const facts = factsOf(reaction)
        return (
          <li key={reaction.id}>
            <span className={`band ${levelOf(reaction)}`}>
              {isolate(reaction.substance)}
              {facts.length > 0 && ` (${facts.join(', ')})`}
            </span>
          </li>
        )
      })}
    </ul>
  )
}

const PatientName = ({ name, isHeading }: { name: string; isHeading: boolean | undefined }) =>
  isHeading ? (
    <Heading title={name} />
  ) : (
    <p>
      <strong>{name}</strong>
    </p>
  )
