import { join } from 'node:path'
import { compileMessage } from '@lingui/message-utils/compileMessage'
import { defineConfig, type Plugin } from 'vite'

const compiledDirectory = join(import.meta.dirname, '../dist')

interface Measured {
  quantities: object[]
}
interface MeasurementKind {
  path: string
  quantities: Record<string, { unit: string; hard: number[]; warn?: number[] }>
  thresholdTarget: { names: string[]; unit: string; presets: object }
}

/** Compiles the texts (`*.en.json`, `*.nl.json`), so that no parser of ICU messages is in the pages. */
const compileTexts: Plugin = {
  name: 'compile-texts',
  enforce: 'pre',
  transform(code, id) {
    if (!/\.(en|nl)\.json$/.test(id)) return
    const texts = Object.entries(JSON.parse(code) as Record<string, string>)
    const messages = Object.fromEntries(texts.map(([name, text]) => [name, compileMessage(text)]))
    return { code: `export default ${JSON.stringify(messages)}`, map: null, moduleType: 'js' }
  },
}

/** The kinds of measurements, from the service's own definitions. They are compiled before the console is built. */
const measurementKinds: Plugin = {
  name: 'measurement-kinds',
  resolveId: (id) => (id === 'virtual:measurement-kinds' ? id : undefined),
  async load(id) {
    if (id !== 'virtual:measurement-kinds') return
    const { kinds } = await import(join(compiledDirectory, 'records/kinds.js'))
    const { isMeasurementKind } = await import(join(compiledDirectory, 'records/measurements/measurement.js'))
    const { convertibleUnitNames, convertUnit } = await import(
      join(compiledDirectory, 'schemas/measurements/units.js')
    )
    const inUnit = (from: string, to: string, bounds?: number[]) =>
      bounds?.map((one) => convertUnit(one, from, to))
    const definitions = kinds
      .filter(isMeasurementKind)
      .map(({ path, quantities, thresholdTarget }: MeasurementKind) => ({
        path,
        thresholds: {
          names: thresholdTarget.names,
          unit: thresholdTarget.unit,
          presets: Object.keys(thresholdTarget.presets),
        },
        quantities: Object.entries(quantities).map(([name, { unit, hard, warn }]) => ({
          name,
          units: [...new Set<string>([unit, ...convertibleUnitNames(unit)])].map((code) => ({
            code,
            hard: inUnit(unit, code, hard),
            warn: inUnit(unit, code, warn),
          })),
        })),
      }))
    return `export default ${JSON.stringify(definitions.filter(({ quantities }: Measured) => quantities.length > 0))}`
  },
}

const SERVICE_NAME_MODULE = 'virtual:service-name'

const importServiceNames = async (): Promise<Record<string, string>> =>
  (await import(join(compiledDirectory, 'schemas/text/service-name.js'))).SERVICE_NAMES

/** The name of the service, from the service's own definition. */
const serviceName: Plugin = {
  name: 'service-name',
  resolveId: (id) => (id === SERVICE_NAME_MODULE ? id : undefined),
  load: async (id) =>
    id === SERVICE_NAME_MODULE ? `export default ${JSON.stringify(await importServiceNames())}` : undefined,
  transformIndexHtml: async (html) => html.replace('%SERVICE_NAME%', (await importServiceNames()).en ?? ''),
}

/** The files with which the first page starts. The entry itself is small, so that the texts and the pages load at the same time. */
const START = 'src/app/start-app.tsx'

/** Names the files of the first page in the HTML, so that they load before the entry asks for them. Vite names the entry's own. */
const preloadStart: Plugin = {
  name: 'preload-start',
  transformIndexHtml: {
    order: 'post',
    handler(html, { bundle = {} }) {
      const chunks = Object.values(bundle).filter((one) => one.type === 'chunk')
      const files = chunks
        .filter(({ facadeModuleId }) => facadeModuleId?.endsWith(START))
        .map(({ fileName }) => fileName)
      // The loop also visits what it adds.
      for (const file of files) {
        const imports = chunks.find(({ fileName }) => fileName === file)?.imports ?? []
        files.push(...imports.filter((one) => !files.includes(one)))
      }
      const missingFiles = files.filter((name) => !html.includes(name))
      return missingFiles.map((name) => ({
        tag: 'link',
        attrs: { rel: 'modulepreload', crossorigin: true, href: `./${name}` },
      }))
    },
  },
}

export default defineConfig({
  root: import.meta.dirname,
  // Relative URLs work below any path.
  base: './',
  plugins: [compileTexts, measurementKinds, serviceName, preloadStart],
  build: {
    outDir: '.build',
    emptyOutDir: true,
    target: 'es2022',
    manifest: true,
    assetsInlineLimit: 0,
    // Libraries mark what runs in browsers only, which is all of this. Times are no fault.
    rolldownOptions: {
      // Few files: on a slow phone each costs more than its bytes.
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'entry',
              test: /src\/(texts\/language|session\/session-mark|browser\/storage)\.ts$/,
              priority: 3,
            },
            { name: 'start', test: /src\/app\/start-app\.tsx$/, priority: 2 },
            {
              name: 'signed-in',
              // What the home page shares with others is here, too: a chunk of graphs would bring their library with it.
              test: /src\/(app\/signed-in|patient\/home\/(newest|task)-list|ui\/band-badge)\.tsx$|src\/(model\/(health-record|newest-values)|patient\/messages\/topic-queries)\.ts$/,
              priority: 1,
            },
            { name: 'charts', test: /src\/patient\/overview\/period-charts\.tsx$/ },
          ],
        },
      },
      onLog: (level, log, handle) =>
        ['MODULE_LEVEL_DIRECTIVE', 'PLUGIN_TIMINGS'].includes(log.code ?? '') || handle(level, log),
    },
  },
})
