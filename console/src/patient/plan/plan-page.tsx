import { useQuery } from '@tanstack/react-query'
import { Link } from '../../browser/router.tsx'
import { plansQuery } from '../../model/health-record.ts'
import { mayAct, textFor } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { Plans } from './plan-list.tsx'

/** The active care plans with their goals and open tasks. */
export default function PlanPage({ me }: PageProps) {
  const t = useText()
  const plans = useQuery(plansQuery(me.ehrId))
  return (
    <>
      <Heading title={textFor(me, 'plan.title')} />
      {mayAct(me, 'PLAN') && (
        <div className="actions">
          <Link to="/plan/new" className="button">
            {t('plan.new')}
          </Link>
        </div>
      )}
      <Loaded query={plans}>
        {(items) =>
          items.length === 0 ? <p>{t('plan.none')}</p> : <Plans me={me} ids={items.map(({ id }) => id)} />
        }
      </Loaded>
    </>
  )
}
