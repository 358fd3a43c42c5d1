import { SERVICE_NAME } from '../../schemas/text/service-name.ts'
import {
  accountAddress,
  applicationId,
  createChoiceKind,
  createWholeNumberKind,
  directory,
  hostName,
  key,
  keys,
  mailAddress,
  mailbox,
  mongodbUri,
  origins,
  type SettingKind,
  serviceUrl,
  smtpUrl,
  systemId,
  trustedProxies,
  versionName,
  visibleText,
  visibleTexts,
  webUrl,
} from './setting-kinds.ts'

/**
 * A setting of the service. Its environment variable is the name in capitals: `dataDir` is DATA_DIR.
 * `openDefault` replaces the default in the open test environment. A setting with `isGenerated` is a secret that is
 * generated once and stored in DATA_DIR; production requires it. A `stored` setting is read from there but
 * never generated.
 */
export interface Setting<T> {
  kind: SettingKind<T>
  description: string
  default?: string
  openDefault?: string
  isGenerated?: true
  stored?: true
}

/** All settings, in the order of the documentation. */
export const SETTINGS = {
  port: {
    kind: createWholeNumberKind(1, 65535),
    default: '1337',
    openDefault: '1338',
    description: 'Port to listen on',
  },
  host: {
    kind: hostName,
    default: '127.0.0.1',
    description: 'Address to listen on; 0.0.0.0 for every network',
  },
  publicUrl: {
    kind: serviceUrl,
    description: 'URL at which clients reach the service, used in mails; if unset, http://HOST:PORT',
  },
  dataDir: {
    kind: directory,
    default: './data',
    openDefault: './data-open',
    description: 'Directory of the embedded database, the generated keys and the outbox',
  },
  mongodbUri: {
    kind: mongodbUri,
    description: 'MongoDB to use, a replica set; if unset, the embedded database keeps its files in DATA_DIR',
  },
  smtpUrl: {
    kind: smtpUrl,
    description: 'Mail server; if unset, mails are written to DATA_DIR/outbox and their links are logged',
  },
  mailFrom: {
    kind: mailbox,
    default: `${SERVICE_NAME} <no-reply@localhost>`,
    description: 'Sender of the mails',
  },
  appUrl: {
    kind: webUrl,
    description: 'URL of the app in which people log in, given in mails; if unset, the console',
  },
  contactEmail: {
    kind: mailAddress,
    description: 'Address for questions and reports, given in mails; if unset, mails give PUBLIC_URL',
  },
  adminEmail: {
    kind: accountAddress,
    description:
      'E-mail address of the first administrator, who is invited by mail; if unset, a one-time link is printed at start (not in production)',
  },
  applicationId: {
    kind: applicationId,
    isGenerated: true,
    description: 'Application id that clients of the class family send',
  },
  restApiKey: { kind: key, isGenerated: true, description: 'Key that REST clients of the class family send' },
  javascriptKey: { kind: key, isGenerated: true, description: 'Key that JavaScript SDK clients send' },
  clientKey: {
    kind: key,
    isGenerated: true,
    description: 'Key that the SDKs for Android, Apple and Flutter send',
  },
  dotnetKey: { kind: key, isGenerated: true, description: 'Key that the SDK for .NET sends' },
  masterKey: {
    kind: key,
    isGenerated: true,
    description: 'Key that bypasses every access rule; accepted from this machine only',
  },
  readOnlyMasterKey: {
    kind: key,
    description:
      'Key with which Parse Dashboard reads everything; accepted from this machine only, and each read is audited (docs/parse-dashboard.md)',
  },
  keyEncryptionKey: {
    kind: key,
    isGenerated: true,
    description:
      'Key that encrypts the signing keys of access tokens in the database; change it only with audit rekey',
  },
  keyEncryptionKeysBefore: {
    kind: keys,
    stored: true,
    description: 'Former values of KEY_ENCRYPTION_KEY, which audit rekey needs to read what they encrypted',
  },
  signingKeyDays: {
    kind: createWholeNumberKind(1, 365),
    default: '30',
    description: 'Days after which a new key signs access tokens',
  },
  termsVersion: {
    kind: versionName,
    default: '1',
    description: 'Version of the terms of service, stored with each agreement',
  },
  termsUrl: {
    kind: webUrl,
    description: 'Page with the terms of service; if unset, nobody is asked to agree to terms',
  },
  oidcIssuer: {
    kind: webUrl,
    default: 'https://accounts.google.com',
    description: 'OpenID Connect provider for external logins',
  },
  oidcClientId: {
    kind: visibleText,
    description: 'Client id of the service at that provider; if unset, external logins are off',
  },
  oidcClientSecret: { kind: visibleText, description: 'Client secret of the service at that provider' },
  oidcAudiences: {
    kind: visibleTexts,
    description:
      'Further client ids, such as those of apps, whose ID tokens are accepted, separated by commas',
  },
  internalKeyHosts: {
    kind: visibleTexts,
    description:
      'Hosts of your own network from which keys of apps are fetched (jwksUri), separated by commas; others need public addresses',
  },
  auditKey: {
    kind: key,
    isGenerated: true,
    description: 'Key that chains the entries of the audit; change it only with audit rekey',
  },
  auditKeysBefore: {
    kind: keys,
    stored: true,
    description: 'Former values of AUDIT_KEY, which verify older parts of the audit',
  },
  auditDays: {
    kind: createWholeNumberKind(1, 36_500),
    description: 'Days after which entries of the audit are removed; if unset, all are kept',
  },
  logLevel: {
    kind: createChoiceKind('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    default: 'info',
    description: 'Lowest level that is logged',
  },
  accessLog: {
    kind: createChoiceKind('off', 'on'),
    default: 'off',
    description: 'Log of each request, at level info and without personal data',
  },
  trustProxy: {
    kind: trustedProxies,
    default: 'false',
    description: 'Proxies whose X-Forwarded-For is trusted: false, a number, or addresses',
  },
  corsOrigins: {
    kind: origins,
    description: 'Browser origins that may call the service; if unset, none may',
  },
  carePlanTemplates: {
    kind: directory,
    description: 'Directory of your own care-plan templates, *.json (docs/care-plan-templates.md)',
  },
  textPacks: {
    kind: directory,
    description: 'Directory of licensed questionnaire texts, *.json (docs/questionnaires.md)',
  },
  openehrSystemId: {
    kind: systemId,
    default: 'hrs.local',
    description:
      'System id of openEHR, part of the uid of every version; set it once, before the first version',
  },
  addressRate: {
    kind: createWholeNumberKind(1, 1_000_000),
    default: '600',
    description: 'Requests per minute from one address; each part of a batch counts as one',
  },
  accountRate: {
    kind: createWholeNumberKind(1, 1_000_000),
    default: '1200',
    description: 'Requests per minute of one account; each part of a batch counts as one',
  },
  instances: {
    kind: createChoiceKind('one', 'several'),
    default: 'one',
    description:
      'Number of running instances; with several, the database counts the limits and orders the changes',
  },
  tokenInQuery: {
    kind: createChoiceKind('refused', 'accepted'),
    default: 'refused',
    description: 'Acceptance of ?authToken= in a URL as a token; URLs end up in logs and browser histories',
  },
  loginAttempts: {
    kind: createWholeNumberKind(1, 1_000_000),
    default: '30',
    openDefault: '1000',
    description: 'Logins, registrations and resets from one address in five minutes',
  },
  accountLoginAttempts: {
    kind: createWholeNumberKind(1, 1_000_000),
    default: '10',
    description: 'Logins, registrations and resets of the path family for one account in five minutes',
  },
  lockoutAttempts: {
    kind: createWholeNumberKind(1, 999),
    default: '5',
    description: 'Wrong passwords after which an account is locked for five minutes',
  },
} as const satisfies Record<string, Setting<unknown>>
