/** Imports run one way: schemas <- records <- cloud, path-api <- server. See docs/decisions. */
const only = (from, allowed) => ({
  name: `${from}-imports-only`,
  severity: 'error',
  from: { path: `^${from}/` },
  to: {
    path: '^(schemas|records|cloud|path-api|server|test|bench)/',
    pathNot: `^(${[from, ...allowed].join('|')})/`,
  },
})

const engine = 'packages/embedded-mongo'
/** The folders of the engine, each resting on those before it. */
const engineFolders = [
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
]

module.exports = {
  forbidden: [
    only('schemas', []),
    only('records', ['schemas']),
    only('cloud', ['records', 'schemas']),
    only('path-api', ['records', 'schemas']),
    {
      name: 'product-never-imports-tests',
      severity: 'error',
      from: { path: '^(schemas|records|cloud|path-api|server|packages)/' },
      to: { path: '^(test|bench)/' },
    },
    ...engineFolders.map((folder, at) => ({
      name: `embedded-mongo-${folder.replaceAll('/', '-')}-imports-only-what-is-before-it`,
      severity: 'error',
      from: { path: `^${engine}/${folder}/` },
      to: {
        path: '^(schemas|records|cloud|path-api|server|test|bench|packages)/',
        pathNot: `^${engine}/(${engineFolders.slice(0, at + 1).join('|')})/`,
      },
    })),
    {
      name: 'embedded-mongo-imports-nothing-of-ours',
      severity: 'error',
      from: { path: `^${engine}/` },
      to: { path: '^(schemas|records|cloud|path-api|server|test|bench)/' },
    },
    {
      name: 'embedded-mongo-is-reached-by-its-name',
      comment:
        'The service starts it; its exports alone are reachable from outside, the harness by tests only.',
      severity: 'error',
      from: { pathNot: `^${engine}/` },
      to: { path: `^${engine}/`, pathNot: `^${engine}/dist/(index|regex|testing)[.]` },
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
      from: { path: '^(records|schemas)/' },
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
        path: '^(schemas|records|cloud|path-api|server|packages)/',
        pathNot: `^${engine}/(test/|testing[.]|dist/)`,
      },
      to: { dependencyTypes: ['npm-dev'], pathNot: 'node_modules/@types/' },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', 'packages/[^/]+/dist/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
    },
  },
}
