import { useQuery } from '@tanstack/react-query'
import { Link } from '../../browser/router.tsx'
import type { PageProps } from '../../model/page-props.ts'
import { formatMoment } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { TypeForm } from './type-form.tsx'
import { newTexts, textsOf } from './type-texts.ts'
import { type Family, familyOf, typeQuery } from './types-query.ts'

/** A type: a new one, or a further version of it. */
export default function TypePage({ me: { mvUid }, params }: PageProps) {
  const { type } = params
  const family = familyOf(params.family)
  return type === undefined ? (
    <NewType mvUid={mvUid} family={family} />
  ) : (
    <ExistingType mvUid={mvUid} family={family} type={type} />
  )
}

interface NewTypeProps {
  mvUid: string
  family: Family
}

function NewType({ mvUid, family }: NewTypeProps) {
  const t = useText()
  return (
    <>
      <Heading title={t(`family.${family}.new`)} />
      <Back family={family} />
      <TypeForm mvUid={mvUid} family={family} storedTexts={newTexts(family)} etag="" />
    </>
  )
}

function ExistingType({ mvUid, family, type }: NewTypeProps & { type: string }) {
  const t = useText()
  const query = useQuery(typeQuery(family, type))
  return (
    <>
      <Heading title={query.data?.definition.name ?? type} />
      <Back family={family} />
      <Loaded query={query} lines={8}>
        {({ definition, etag }) => (
          <>
            <p>
              {t('types.version', {
                type,
                number: definition.version,
                at: formatMoment(definition.updatedAt),
              })}
            </p>
            <TypeForm mvUid={mvUid} family={family} storedTexts={textsOf(definition)} etag={etag} />
          </>
        )}
      </Loaded>
    </>
  )
}

function Back({ family }: { family: Family }) {
  const t = useText()
  return (
    <p>
      <Link to={`/types?family=${family}`}>{t(`family.${family}`)}</Link>
    </p>
  )
}
