import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { isDenied } from '../../model/queries.ts'
import { AccessiblePage } from '../../ui/loaded.tsx'
import { bannerQuery } from './banner-query.ts'

interface PatientAccessProps {
  ehrId: string
  children: ReactNode
}

/** A page about a patient, as long as the reader may see the record. Then everything that was read of it is forgotten. */
export function PatientAccess({ ehrId, children }: PatientAccessProps) {
  const queries = useQueryClient()
  const banner = useQuery(bannerQuery(ehrId))
  const hasNoAccess = isDenied(banner.error)
  useEffect(() => {
    if (!hasNoAccess) return
    queries.removeQueries({ type: 'inactive', predicate: ({ queryKey }) => queryKey.includes(ehrId) })
  }, [queries, ehrId, hasNoAccess])
  return <AccessiblePage query={banner}>{children}</AccessiblePage>
}
