import type { Me } from './me.ts'

export interface PageProps {
  me: Me
  /** Values of the path, such as `planId` of `/plan/:planId`. */
  params: Readonly<Record<string, string>>
}
