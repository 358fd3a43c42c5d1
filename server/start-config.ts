import { findTemplateFaults } from '../records/care-plans/templates/care-plan-templates.ts'
import { findTextPackFaults } from '../records/questionnaires/text-packs.ts'
import { type Config, ConfigError, readConfig } from './config/config.ts'
import { directory } from './config/setting-kinds.ts'
import { readJsonFiles } from './records/json-files.ts'

/**
 * Reads the configuration of a service that starts, with the files that it names.
 * @throws ConfigError with all faults of both
 */
export function readStartConfig(...[env, ...more]: Parameters<typeof readConfig>): Config {
  const filesOf = (variable: string) => readJsonFiles(directory.read(env[variable] ?? ''), variable)
  const fileFaults = [
    ...findTemplateFaults(filesOf('CARE_PLAN_TEMPLATES')),
    ...findTextPackFaults(filesOf('TEXT_PACKS')),
  ]
  try {
    const config = readConfig(env, ...more)
    if (fileFaults.length > 0) throw new ConfigError([])
    return config
  } catch (error) {
    throw error instanceof ConfigError ? new ConfigError([...error.faults, ...fileFaults]) : error
  }
}
