/** For mocha's `--require`: a run without a test must not look like a passing one. */
export function mochaGlobalSetup() {
  // Mocha's --fail-zero would also fail each process that runs a file without a match.
  this.once('end', () => {
    if (this.stats?.tests === 0) this.failures = 1
  })
}
