import kinds from 'virtual:measurement-kinds'
import { Link, useAddress } from '../../browser/router.tsx'
import type { PageProps } from '../../model/page-props.ts'
import { kindName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { MeasureForm } from './measure-form.tsx'

/** Chooses what to measure, then asks for the values. */
export default function MeasurePage({ me }: PageProps) {
  const t = useText()
  const { query } = useAddress()
  const chosen = kinds.find(({ path }) => path === query.get('kind'))
  if (chosen) return <MeasureForm key={chosen.path} me={me} kind={chosen} />
  return (
    <>
      <Heading title={t('measure.title')} />
      <ul className="tiles">
        {kinds.map(({ path }) => (
          <li key={path}>
            <Link className="button" to={`/measure?kind=${path}`}>
              {kindName(path)}
            </Link>
          </li>
        ))}
      </ul>
    </>
  )
}
