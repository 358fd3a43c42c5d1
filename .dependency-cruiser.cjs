/**
 * Imports run one way: schemas <- records <- openehr <- path-api, and records <- cloud; server is on top. Each
 * rule's comment is the remedy.
 */
const { readdirSync, readFileSync } = require('node:fs')

/** The rooms of the service; packages, the client and the console are apart. */
const service = 'schemas|records|openehr|fhir|cloud|path-api|server'

const only = (from, allowed) => ({
  name: `${from}-imports-only`,
  comment: `${from}/ may import ${['itself', ...allowed].join(', ')}: move the code there, or pass it in as a parameter.`,
  severity: 'error',
  from: { path: `^${from}/` },
  to: {
    path: `^(${service}|test|bench)/`,
    pathNot: `^(${[from, ...allowed].join('|')})/`,
  },
})

const engine = 'packages/embedded-mongo'
/** The folders of each room, and files beside them, each resting on those before it. */
const rooms = {
  records: [
    'limits',
    'store',
    'fhir',
    'ehrs',
    'ehr-records',
    'accounts',
    'history',
    'live',
    'profiles',
    'care-plans',
    'administration',
    'handovers',
    'events',
    'conditions',
    'medications',
    'questionnaires',
    'measurements',
    'types',
    'user-data',
    'compositions',
    'charts',
    'chat',
    'worklist',
  ],
  openehr: [
    'formats',
    'rm',
    'opt',
    'adl',
    'validation',
    'templates',
    'simplified',
    'versions',
    'composition-views',
    'measurement-mapping',
    'compositions',
    'ehr-status',
    'directories',
    'contributions',
    'aql',
    'examples',
  ],
  fhir: [
    'outcome',
    'sources',
    'search',
    'resources',
    'bundles',
    'operations',
    'export',
    'requests',
    'subscriptions',
  ],
  cloud: ['parse-server', 'request', 'functions', 'writes', 'triggers', 'class-definitions', 'http', 'live'],
  'path-api': [
    'browser',
    'reply',
    'operation',
    'pages',
    'resources',
    'response',
    'limits',
    'request',
    'documentation',
  ],
  server: [
    'config',
    'telemetry',
    'keys',
    'database',
    'limits',
    'mail',
    'http',
    'accounts',
    'live',
    'import',
    'records',
  ],
  'console/src': [
    'styles',
    'browser',
    'texts',
    'session',
    'model',
    'ui',
    'patient',
    'nurse',
    'analyst',
    'modeller',
    'admin',
    'signed-out',
    'app',
  ],
  [engine]: [
    'values',
    'language/expressions',
    'language/filters',
    'language/results',
    'language/aggregation',
    'language/updates',
    'storage/disk',
    'storage/collections',
    'storage/queries',
    'storage',
    'commands',
    'wire',
  ],
}

const onlyWhatIsBefore = ([room, folders]) =>
  folders.map((folder, at) => ({
    name: `${room}-${folder}-imports-only-what-is-before-it`.replaceAll('/', '-'),
    comment:
      `${room}/${folder} may import only the folders of ${room}/ that \`rooms\` in .dependency-cruiser.cjs names before it: ` +
      'move the code, or pass it in as a parameter.',
    severity: 'error',
    from: { path: `^${room}/${folder}[/.]` },
    to: { path: `^${room}/`, pathNot: `^${room}/(${folders.slice(0, at + 1).join('|')})[/.]` },
  }))

const foldersIn = (folder) =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => name)

/** Folders of a room, as paths below it, that no entry of the room names: neither they, nor a part, nor the whole. */
function unknownFolders(room, known, below = '') {
  return foldersIn(`${room}/${below}`).flatMap((name) => {
    const path = below + name
    if (known.includes(path)) return []
    return known.some((one) => one.startsWith(`${path}/`)) ? unknownFolders(room, known, `${path}/`) : [path]
  })
}

/** Top-level folders without rules of their own. */
const others = ['bin', 'client', 'console', 'docs', 'packages', 'scripts', 'schemas', 'test', 'bench']
const ignored = readFileSync('.gitignore', 'utf8')
  .split('\n')
  .map((line) => line.replace(/\/$/, ''))
/** Folders that may import everything in their room: nothing there imports them. */
const withoutOrder = { server: ['commands'], [engine]: ['bin', 'test', 'dist', 'node_modules'] }

function requireKnownFolders() {
  const known = [...Object.keys(rooms), ...others, ...ignored]
  const unknown = [
    ...foldersIn('.').filter((name) => !known.includes(name)),
    ...foldersIn('packages')
      .map((name) => `packages/${name}`)
      .filter((path) => path !== engine),
    ...Object.entries(rooms).flatMap(([room, folders]) =>
      unknownFolders(room, [...folders, ...(withoutOrder[room] ?? [])]).map((path) => `${room}/${path}`),
    ),
  ]
  if (unknown.length > 0)
    throw new Error(
      `Name ${unknown.join(', ')} in .dependency-cruiser.cjs, behind the folders that it imports.`,
    )
}
requireKnownFolders()

module.exports = {
  forbidden: [
    only('schemas', []),
    only('records', ['schemas']),
    only('openehr', ['records', 'schemas']),
    only('cloud', ['records', 'schemas']),
    only('fhir', ['records', 'schemas']),
    only('path-api', ['fhir', 'openehr', 'records', 'schemas']),
    {
      name: 'product-never-imports-tests',
      comment: 'Move what the product needs out of test/ and bench/.',
      severity: 'error',
      from: { path: `^(${service}|packages)/` },
      to: { path: '^(test|bench)/' },
    },
    ...Object.entries(rooms).flatMap(onlyWhatIsBefore),
    {
      name: 'embedded-mongo-imports-nothing-of-ours',
      comment: 'The engine is a package of its own: move the code into it, or pass it in as a parameter.',
      severity: 'error',
      from: { path: `^${engine}/` },
      to: { path: `^(${service}|test|bench)/` },
    },
    {
      name: 'embedded-mongo-is-reached-by-its-name',
      comment:
        'Import @health-record-service/embedded-mongo, or an entry of its package.json; export there what you need.',
      severity: 'error',
      from: { pathNot: `^${engine}/` },
      to: { path: `^${engine}/`, pathNot: `^${engine}/dist/(index|matcher|regex|testing)[.]` },
    },
    {
      name: 'client-imports-nothing-of-ours',
      comment: 'The client is a package of its own, for browsers too: move the code into it.',
      severity: 'error',
      from: { path: '^client/' },
      to: { path: `^(${service}|packages|test|bench)/` },
    },
    {
      name: 'console-imports-only-the-client',
      comment: 'The console is a page: let it ask the service, by the client.',
      severity: 'error',
      from: { path: '^console/' },
      to: { path: `^(${service}|packages|test|bench)/` },
    },
    {
      name: 'console-is-not-imported',
      comment: 'Move the code out of the console.',
      severity: 'error',
      from: { pathNot: '^console/' },
      to: { path: '^console/' },
    },
    {
      name: 'client-is-reached-by-its-name',
      comment: 'Import health-record-client; export there what you need.',
      severity: 'error',
      from: { pathNot: '^client/' },
      to: { path: '^client/', pathNot: '^client/dist/(index|parse)[.]' },
    },
    {
      name: 'embedded-mongo-harness-is-for-tests',
      comment: 'Start the engine by its main entry instead of its test harness.',
      severity: 'error',
      from: { pathNot: `^(test/|bench/|${engine}/(test/|testing))` },
      to: { path: `^${engine}/(dist/)?testing[.]` },
    },
    {
      name: 'records-know-neither-http-nor-parse',
      comment: 'Move the code to cloud/ or path-api/, and pass its result in.',
      severity: 'error',
      from: { path: '^(openehr|records|schemas)/' },
      to: { path: 'node_modules/(express|parse|parse-server|supertest)/' },
    },
    {
      name: 'no-circular',
      comment: 'Move what both files need into a third one.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'folders-import-one-way',
      comment: 'Move the file that both folders need into the lower one.',
      severity: 'error',
      scope: 'folder',
      from: { pathNot: '^node_modules' },
      to: { circular: true },
    },
    {
      name: 'no-dev-dependencies-in-the-product',
      comment: 'Move the package from devDependencies to dependencies in package.json.',
      severity: 'error',
      from: {
        path: `^(${service}|packages)/`,
        pathNot: `^${engine}/(test/|testing[.]|dist/)`,
      },
      to: { dependencyTypes: ['npm-dev'], pathNot: 'node_modules/@types/' },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '(packages/[^/]+|client)/dist/'] },
    exclude: { path: '(^|/)[.]build/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
    },
  },
}
