import { useQuery } from '@tanstack/react-query'
import { planQuery } from '../../model/health-record.ts'
import { atPatient } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { LoadedPage } from '../../ui/loaded.tsx'
import { NotFound } from '../../ui/not-found.tsx'
import { GoalForm } from './goal-form.tsx'

export default function GoalPage({ me: self, params }: PageProps) {
  const { planId = '', goalId } = params
  const me = atPatient(self, params)
  const plan = useQuery(planQuery(me.ehrId, planId))
  return (
    <LoadedPage query={plan}>
      {({ goals }) => {
        const goal = goals.find(({ id }) => id === goalId)
        return goal ? <GoalForm me={me} goal={goal} /> : <NotFound />
      }}
    </LoadedPage>
  )
}
