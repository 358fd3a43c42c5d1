import packageJson from '../../package.json' with { type: 'json' }

/** `>=20.19.0 <21 || >=22.13.0 <23` and the like, as package.json writes it. */
const ranges = packageJson.engines.node
  .split(' || ')
  .map((range) => (/>=([\d.]+)/.exec(range)?.[1] ?? '').split('.').map(Number))

/**
 * Says in a sentence what an unfit Node would say in a stack trace, or not at all.
 * @throws Error
 */
export function requireNode(version = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (ranges.some(([line, least = 0]) => line === major && minor >= least)) return
  const lines = ranges.map(([line, least]) => `${line}.${least}`).join(', ')
  throw new Error(`Node ${version} does not run this service: install ${lines} or later of the same line.`)
}
