import {
  applicationId,
  directory,
  hostName,
  type Kind,
  key,
  mailAddress,
  mailbox,
  mongodbAddress,
  oneOf,
  origins,
  smtpAddress,
  trustedProxies,
  versionName,
  visibleText,
  visibleTexts,
  webAddress,
  wholeNumber,
} from './value-kinds.ts'

/**
 * One setting of the service. Its environment variable has the setting's name in capitals: `dataDir` is DATA_DIR.
 * `openDefault` takes the default's place in the open test environment. A `made` setting is a secret that is
 * made once and kept in DATA_DIR when it is not given; production demands it.
 */
export interface Setting<T> {
  kind: Kind<T>
  about: string
  default?: string
  openDefault?: string
  made?: true
}

/** Everything that can be configured; the order is the one in which a reader meets them. */
export const settings = {
  port: { kind: wholeNumber(1, 65535), default: '1337', openDefault: '1338', about: 'Port to listen on' },
  host: { kind: hostName, default: '127.0.0.1', about: 'Address to listen on; 0.0.0.0 for every network' },
  publicUrl: {
    kind: webAddress,
    about: 'Address under which clients reach the service, used in mails; without it http://HOST:PORT',
  },
  dataDir: {
    kind: directory,
    default: './data',
    openDefault: './data-open',
    about: 'Directory of the embedded database, the generated keys and the outbox',
  },
  mongodbUri: {
    kind: mongodbAddress,
    about:
      'MongoDB to use (a replica set in production); without it the embedded database serves from DATA_DIR',
  },
  smtpUrl: {
    kind: smtpAddress,
    about: 'Mail server; without it mails are written to DATA_DIR/outbox and their links are logged',
  },
  mailFrom: {
    kind: mailbox,
    default: 'Health Record Service <no-reply@localhost>',
    about: 'Sender of the mails',
  },
  adminEmail: {
    kind: mailAddress,
    about: 'Who is invited to be the first administrator; without it the start prints a link to become that',
  },
  applicationId: {
    kind: applicationId,
    made: true,
    about: 'Application id that clients of the class family send',
  },
  restApiKey: { kind: key, made: true, about: 'Key that REST clients of the class family send' },
  javascriptKey: { kind: key, made: true, about: 'Key that JavaScript SDK clients send' },
  clientKey: { kind: key, made: true, about: 'Key that the SDKs for Android, Apple and Flutter send' },
  dotnetKey: { kind: key, made: true, about: 'Key that the SDK for .NET sends' },
  masterKey: {
    kind: key,
    made: true,
    about: 'Key that bypasses every access rule; accepted from this machine only',
  },
  readOnlyMasterKey: {
    kind: key,
    about:
      'Key that reads everything, for Parse Dashboard; accepted from this machine only, each read is audited (docs/parse-dashboard.md)',
  },
  keyEncryptionKey: {
    kind: key,
    made: true,
    about: 'Key that encrypts, in the database, the private keys that sign access tokens',
  },
  signingKeyDays: {
    kind: wholeNumber(1, 365),
    default: '30',
    about: 'Days after which a new key signs access tokens',
  },
  termsVersion: {
    kind: versionName,
    default: '1',
    about: 'Version of the terms of service that people agree to',
  },
  termsUrl: {
    kind: webAddress,
    about: 'Page with those terms, linked from the pages that ask for agreement',
  },
  oidcIssuer: {
    kind: webAddress,
    default: 'https://accounts.google.com',
    about: 'OpenID Connect provider for external logins',
  },
  oidcClientId: {
    kind: visibleText,
    about: "The service's client id at that provider; without it there are no external logins",
  },
  oidcClientSecret: { kind: visibleText, about: "The service's client secret at that provider" },
  oidcAudiences: {
    kind: visibleTexts,
    about: 'Further client ids, such as those of apps, whose ID tokens are accepted, separated by commas',
  },
  auditKey: {
    kind: key,
    made: true,
    about:
      'Key that chains the audit; never change it: the audit can only be verified with the key it was chained with',
  },
  auditDays: {
    kind: wholeNumber(1, 36_500),
    about: 'Days after which entries of the audit are removed; without it none are removed',
  },
  logLevel: {
    kind: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    default: 'info',
    about: 'Least severe level that is logged',
  },
  accessLog: {
    kind: oneOf('off', 'on'),
    default: 'off',
    about: 'Whether each request has a line in the log, at the level info and without personal data',
  },
  trustProxy: {
    kind: trustedProxies,
    default: 'false',
    about: 'Proxies whose X-Forwarded-For is trusted: false, a number, or addresses',
  },
  corsOrigins: { kind: origins, about: 'Browser origins that may call the service; without it none' },
  carePlanTemplates: {
    kind: directory,
    about: 'Directory of further care-plan templates, *.json, as docs/care-plan-templates.md describes them',
  },
  textPacks: {
    kind: directory,
    about: 'Directory of licensed texts of questionnaires, *.json, as docs/questionnaires.md describes them',
  },
  addressRate: {
    kind: wholeNumber(1, 1_000_000),
    default: '600',
    about: 'Requests per minute from one address; each part of a batch counts as one',
  },
  accountRate: {
    kind: wholeNumber(1, 1_000_000),
    default: '1200',
    about: 'Requests per minute of one account; each part of a batch counts as one',
  },
  instances: {
    kind: oneOf('one', 'several'),
    default: 'one',
    about: 'Whether several instances share the work: then every limit is counted in the database',
  },
  tokenInQuery: {
    kind: oneOf('refused', 'accepted'),
    default: 'refused',
    about: 'Whether ?authToken= is accepted as a token; addresses end up in logs and browser histories',
  },
  loginAttempts: {
    kind: wholeNumber(1, 1_000_000),
    default: '30',
    openDefault: '1000',
    about: 'Logins, registrations and resets from one address in five minutes',
  },
  accountLoginAttempts: {
    kind: wholeNumber(1, 1_000_000),
    default: '10',
    about: 'Logins, registrations and resets of the path family for one account in five minutes',
  },
  lockoutAttempts: {
    kind: wholeNumber(1, 999),
    default: '5',
    about: 'Wrong passwords after which an account is locked for five minutes',
  },
} as const satisfies Record<string, Setting<unknown>>
