import packageJson from '../../package.json' with { type: 'json' }

/** Supported versions in the format of package.json: `>=20.19.0 <21 || >=22.13.0 <23`. */
const SUPPORTED_RANGES = packageJson.engines.node
  .split(' || ')
  .map((range) => (/>=([\d.]+)/.exec(range)?.[1] ?? '').split('.').map(Number))

/**
 * Reports an unsupported Node version in a sentence instead of a stack trace.
 * @throws Error
 */
export function requireNode(version = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (SUPPORTED_RANGES.some(([line, least = 0]) => line === major && minor >= least)) return
  const lines = SUPPORTED_RANGES.map(([line, least]) => `${line}.${least}`).join(', ')
  throw new Error(`Node ${version} is not supported. Install ${lines} or a later version of the same line.`)
}
