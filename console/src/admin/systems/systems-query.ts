import type { components } from 'health-record-client'
import type { PageRequest } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'

export type ListedSystem = components['schemas']['ConnectedSystem']

export const SYSTEMS_KEY = ['connected systems']

export const readSystems = async (query: PageRequest) =>
  (await api.GET('/auth/system', { params: { query } })).data
