import { useQuery } from '@tanstack/react-query'
import { NotFound } from '../../app/not-found.tsx'
import type { PageProps } from '../../app/pages.ts'
import { planQuery } from '../../data/health-record.ts'
import { Loaded } from '../../ui/loaded.tsx'
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
