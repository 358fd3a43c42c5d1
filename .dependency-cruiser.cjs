/** Imports run one way: schemas <- records <- openehr <- path-api, and records <- cloud; server is on top. */
const only = (from, allowed) => ({
  name: `${from}-imports-only`,
  severity: 'error',
  from: { path: `^${from}/` },
  to: {
    path: '^(schemas|records|openehr|cloud|path-api|server|test|bench)/',
    pathNot: `^(${[from, ...allowed].join('|')})/`,
  },
})

const engine = 'packages/embedded-mongo'
/** The folders of each room, and files beside them, each resting on those before it. */
const rooms = {
  records: [
    'limits',
    'store',
    'ehrs',
    'ehr-records',
    'accounts',
    'live',
    'profiles',
    'care-plans',
    'events',
    'conditions',
    'questionnaires',
    'measurements',
    'types',
    'user-data',
    'compositions',
    'charts',
    'chat',
  ],
  openehr: [
    'formats',
    'rm',
    'opt',
    'adl',
    'validation',
    'measurement-mapping',
    'templates',
    'compositions',
    'ehr-status',
    'aql',
    'examples',
  ],
  cloud: ['parse-server', 'request', 'functions', 'triggers', 'class-definitions', 'http', 'live'],
  'path-api': ['reply', 'operation', 'pages', 'resources', 'response', 'limits', 'request', 'documentation'],
  server: ['config', 'telemetry', 'keys', 'database', 'limits', 'mail', 'http', 'accounts', 'live', 'import'],
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
    severity: 'error',
    from: { path: `^${room}/${folder}[/.]` },
    to: { path: `^${room}/`, pathNot: `^${room}/(${folders.slice(0, at + 1).join('|')})[/.]` },
  }))

module.exports = {
  forbidden: [
    only('schemas', []),
    only('records', ['schemas']),
    only('openehr', ['records', 'schemas']),
    only('cloud', ['records', 'schemas']),
    only('path-api', ['openehr', 'records', 'schemas']),
    {
      name: 'product-never-imports-tests',
      severity: 'error',
      from: { path: '^(schemas|records|openehr|cloud|path-api|server|packages)/' },
      to: { path: '^(test|bench)/' },
    },
    ...Object.entries(rooms).flatMap(onlyWhatIsBefore),
    {
      name: 'embedded-mongo-imports-nothing-of-ours',
      severity: 'error',
      from: { path: `^${engine}/` },
      to: { path: '^(schemas|records|openehr|cloud|path-api|server|test|bench)/' },
    },
    {
      name: 'embedded-mongo-is-reached-by-its-name',
      comment:
        'The service starts it; its exports alone are reachable from outside, the harness by tests only.',
      severity: 'error',
      from: { pathNot: `^${engine}/` },
      to: { path: `^${engine}/`, pathNot: `^${engine}/dist/(index|matcher|regex|testing)[.]` },
    },
    {
      name: 'embedded-mongo-harness-is-for-tests',
      severity: 'error',
      from: { pathNot: `^(test/|bench/|${engine}/(test/|testing))` },
      to: { path: `^${engine}/(dist/)?testing[.]` },
    },
    {
      name: 'records-know-neither-http-nor-parse',
      severity: 'error',
      from: { path: '^(openehr|records|schemas)/' },
      to: { path: 'node_modules/(express|parse|parse-server|supertest)/' },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'folders-import-one-way',
      severity: 'error',
      scope: 'folder',
      from: { pathNot: '^node_modules' },
      to: { circular: true },
    },
    {
      name: 'no-dev-dependencies-in-the-product',
      severity: 'error',
      from: {
        path: '^(schemas|records|openehr|cloud|path-api|server|packages)/',
        pathNot: `^${engine}/(test/|testing[.]|dist/)`,
      },
      to: { dependencyTypes: ['npm-dev'], pathNot: 'node_modules/@types/' },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', 'packages/[^/]+/dist/'] },
    exclude: { path: '(^|/)[.]build/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
    },
  },
}
