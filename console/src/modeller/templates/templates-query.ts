import { queryOptions } from '@tanstack/react-query'
import { api } from '../../session/user-session.ts'

export const TEMPLATES_KEY = ['templates']
const MAX_TEMPLATES = 1000

export const templatesQuery = queryOptions({
  queryKey: TEMPLATES_KEY,
  queryFn: async () =>
    (await api.GET('/med/knowledge/template', { params: { query: { limit: MAX_TEMPLATES } } })).data,
})

/** A node of a template. */
export interface TemplateNode {
  id: string
  name: string
  rmType: string
  min: number
  /** -1: unlimited. */
  max: number
  aqlPath: string
  children?: TemplateNode[]
}

const pathOf = (concept: string) => ({ path: { concept } })

/** The tree of a template. */
export const templateQuery = (concept: string) =>
  queryOptions({
    queryKey: [...TEMPLATES_KEY, concept],
    queryFn: async () => {
      const { data } = await api.GET('/med/knowledge/template/{concept}', { params: pathOf(concept) })
      return (data as unknown as { tree: TemplateNode }).tree
    },
    staleTime: Number.POSITIVE_INFINITY,
  })

export const FORMATS = ['json', 'flat', 'structured', 'xml'] as const
export const LEVELS = ['required', 'medium', 'complete'] as const

export interface ExampleChoice {
  format: (typeof FORMATS)[number]
  detail_level: (typeof LEVELS)[number]
}

/** A composition with invented data. */
export const exampleQuery = (concept: string, choice: ExampleChoice) =>
  queryOptions({
    queryKey: [...TEMPLATES_KEY, concept, choice],
    queryFn: async () => {
      const params = { ...pathOf(concept), query: choice }
      const { data } = await api.GET('/med/knowledge/template/{concept}/example', { params, parseAs: 'text' })
      return choice.format === 'xml' ? data : JSON.stringify(JSON.parse(data), null, 2)
    },
    staleTime: Number.POSITIVE_INFINITY,
  })
