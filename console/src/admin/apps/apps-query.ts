import type { components } from 'health-record-client'
import type { PageRequest } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'

export type ListedApp = components['schemas']['App']

export const APPS_KEY = ['registered apps']

export const readApps = async (query: PageRequest) => (await api.GET('/auth/app', { params: { query } })).data
