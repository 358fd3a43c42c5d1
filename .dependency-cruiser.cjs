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

module.exports = {
  forbidden: [
    only('schemas', []),
    only('records', ['schemas']),
    only('cloud', ['records', 'schemas']),
    only('path-api', ['records', 'schemas']),
    {
      name: 'product-never-imports-tests',
      severity: 'error',
      from: { path: '^(schemas|records|cloud|path-api|server)/', pathNot: '/test/' },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'embedded-mongo-imports-nothing-of-ours',
      severity: 'error',
      from: { path: '^server/embedded-mongo/' },
      to: {
        path: '^(schemas|records|cloud|path-api|server|test|bench)/',
        pathNot: '^server/embedded-mongo/',
      },
    },
    {
      name: 'embedded-mongo-is-a-process-not-a-library',
      comment: 'The service starts it; nothing but its entry points is reachable from outside.',
      severity: 'error',
      from: { path: '^server/', pathNot: '^server/embedded-mongo/' },
      to: { path: '^server/embedded-mongo/', pathNot: '^server/embedded-mongo/(index|main)[.]ts$' },
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
      from: { pathNot: '^(node_modules|test)' },
      to: { circular: true },
    },
    {
      name: 'no-dev-dependencies-in-the-product',
      severity: 'error',
      from: { path: '^(schemas|records|cloud|path-api|server)/', pathNot: '/test/' },
      to: { dependencyTypes: ['npm-dev'], pathNot: 'node_modules/@types/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
    },
  },
}
