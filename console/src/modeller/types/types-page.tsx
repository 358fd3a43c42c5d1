import { useQuery } from '@tanstack/react-query'
import { Link, navigate, useRoute } from '../../browser/router.tsx'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { FindField, useFind } from '../../ui/table/find-field.tsx'
import { Table, type TableRow } from '../../ui/table/table.tsx'
import { FAMILIES, type Family, familyOf, type TypeDefinition, typesQuery } from './types-query.ts'

/** The types of data, events and devices for which the service has no classes. */
export default function TypesPage() {
  const t = useText()
  const { query } = useRoute()
  const family = familyOf(query.get('family'))
  return (
    <>
      <Heading title={t('types.title')} />
      <fieldset className="choice" aria-label={t('types.family')}>
        {FAMILIES.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === family}
            onClick={() => navigate(`/types?family=${one}`, { replace: true })}
          >
            {t(`family.${one}`)}
          </button>
        ))}
      </fieldset>
      <p>{t(`family.${family}.help`)}</p>
      <TypeList key={family} family={family} />
      <p>
        <Link className="button" to={`/types/new/${family}`}>
          {t('types.new')}
        </Link>
      </p>
    </>
  )
}

function TypeList({ family }: { family: Family }) {
  const t = useText()
  const isFound = useFind()
  const types = useQuery(typesQuery(family))
  return (
    <Loaded query={types} lines={6}>
      {(items) =>
        items.length === 0 ? (
          <p>{t('types.none')}</p>
        ) : (
          <>
            <FindField />
            <Table
              heads={[t('accounts.name'), t('types.type'), t('types.unit'), t('accounts.state')]}
              caption={<caption className="unseen">{t(`family.${family}`)}</caption>}
              rows={items
                .filter(({ type, name }) => isFound(type, name))
                .map((one) => typeRow(t, family, one))}
            />
          </>
        )
      }
    </Loaded>
  )
}

const typeRow = (
  t: ReturnType<typeof useText>,
  family: Family,
  { type, name, unit, retired, used }: TypeDefinition,
): TableRow => ({
  key: type,
  cells: [
    <Link key="name" to={`/types/${family}/${type}`}>
      {name}
    </Link>,
    type,
    unit,
    t(retired ? 'types.retired' : used ? 'types.used' : 'types.unused'),
  ],
})
