import { useQuery } from '@tanstack/react-query'
import { planQuery } from '../../model/health-record.ts'
import type { PageProps } from '../../model/page-props.ts'
import { Loaded } from '../../ui/loaded.tsx'
import { NotFound } from '../../ui/not-found.tsx'
import { GoalForm } from './goal-form.tsx'

export default function GoalPage({ me, params: { planId = '', goalId } }: PageProps) {
  const plan = useQuery(planQuery(me.ehrId, planId))
  return (
    <Loaded query={plan}>
      {({ goals }) => {
        const goal = goals.find(({ id }) => id === goalId)
        return goal ? <GoalForm me={me} goal={goal} /> : <NotFound />
      }}
    </Loaded>
  )
}
