import type { Random } from '../../bench/routing/random.ts';
import { createKey } from '../../src/x509/request.ts';
import { issueBundle } from '../../src/trust/issue.ts';
import type { TlsBundle } from '../../src/router/contract.ts';
import { makeAuthority } from '../unit/trust/support/site.ts';

const API = 'skupper.io/v2alpha1';
const authority = makeAuthority();
const good = issueBundle(authority, 'good', { subject: 'west', hosts: ['west.example'], server: true, client: true });

/** Possible values of `tlsCredentials`. */
export const BUNDLES: readonly TlsBundle[] = [
  good,
  { ...good, name: 'mismatch', key: createKey() },
  { name: 'mangled', cert: 'x', key: 'y', ca: 'z' },
];

/** Specs of each kind with all of their fields. */
const SPECS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  Site: {
    linkAccess: 'default',
    edge: false,
    ha: false,
    defaultIssuer: 'good',
    routerMode: 'x',
    settings: { 'grant-port': '9090', 'link-certificate-lifetime': '720h' },
  },
  Listener: { routingKey: 'a', host: '0.0.0.0', port: 8080, type: 'tcp', tlsCredentials: 'good', observer: 'auto', settings: { a: 'b' } },
  MultiKeyListener: { host: '::', port: 8081, strategy: { priority: { routingKeys: ['a', 'b'] } } },
  Connector: {
    routingKey: 'a',
    host: 'db.example',
    port: 5432,
    type: 'tcp',
    tlsCredentials: 'good',
    useClientCert: true,
    verifyHostname: false,
    includeNotReadyPods: true,
    settings: {},
  },
  Link: { endpoints: [{ name: 'inter-router', host: 'east', port: '55671', group: 'g' }], cost: 2, tlsCredentials: 'good' },
  RouterAccess: {
    roles: [
      { name: 'inter-router', port: 55671 },
      { name: 'edge', port: 45671 },
    ],
    bindHost: '0.0.0.0',
    subjectAlternativeNames: ['west'],
    tlsCredentials: 'good',
    generateTlsCredentials: true,
    issuer: 'x',
  },
  AccessGrant: { redemptionsAllowed: 2, expirationWindow: '15m', code: 'x', issuer: '' },
  AccessToken: { url: 'https://west:9090/v1/redeem/g', code: 'x', ca: authority.ca, linkCost: 1 },
  Certificate: { ca: 'x', subject: 'west', hosts: ['a', '10.0.0.1'], client: true, server: true, signing: false },
};

const kinds = Object.keys(SPECS);

const asYaml = (kind: string, name: string): string => {
  const lines = Object.entries(SPECS[kind] ?? {}).map(([field, value]) => `  ${field}: ${JSON.stringify(value)}`);
  return `apiVersion: ${API}\nkind: ${kind}\nmetadata:\n  name: ${name}\nspec:\n${lines.join('\n')}\n`;
};

const SECRET = `apiVersion: v1\nkind: Secret\nmetadata: {name: west}\ndata:\n  tls.crt: ${Buffer.from(good.cert).toString('base64')}\n  tls.key: eA==\n  ca.crt: eA==\n`;

/** Good texts, to begin from. */
export const SAMPLES: readonly string[] = [
  ...kinds.map((kind, at) => asYaml(kind, `n${at}`)),
  `${asYaml('Site', 'west')}---\n${asYaml('Listener', 'web')}`,
  SECRET,
];

const STRINGS: readonly string[] = [
  '',
  '\0',
  'a\nb',
  '\u001b[31mred',
  '../../../etc/passwd',
  '/etc/passwd',
  '..',
  '__proto__',
  'constructor',
  'toString',
  '\u202e',
  '\ud800',
  '\u2028',
  '\ufeff',
  'x'.repeat(100_000),
  'é'.repeat(253),
  '0',
  '-1',
  '65536',
  '1e999',
  'NaN',
  '0x10',
  '999999999h',
  '15m',
  'a b',
  '%00',
  '::',
  '[::1]',
  '::ffff:127.0.0.1',
  'fe80::1%eth0',
  '256.1.1.1',
  'https://[::1]:99999/v1/redeem/..',
  'http://user:secret@west/',
  'good',
  'mismatch',
  'mangled',
  '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
];

const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  65_536,
  1e308,
  Number.MAX_SAFE_INTEGER,
  [],
  {},
  [[]],
  { a: { b: {} } },
  ['', null, 1],
  { polluted: 'yes' },
];

const NAMES = ['web', 'west', 'a.b', '', '..', '../x', 'A', 'x'.repeat(253), 'x'.repeat(254), '__proto__', 'con\u0000', 'good'];

/** A resource with some fields of unusual content. */
export function hostileResource(random: Random): unknown {
  const kind = random.below(30) === 0 ? random.pick(['', 'Pod', '__proto__', 'constructor', 'AttachedConnector']) : random.pick(kinds);
  const spec = spoiled(random, SPECS[kind] ?? {}, 2 + random.below(6));
  const name = random.below(3) === 0 ? random.pick(NAMES) : 'web';
  const metadata: Record<string, unknown> = {
    name,
    ...(random.below(8) === 0
      ? { namespace: random.pick(STRINGS), labels: hostileValue(random), annotations: { [random.pick(STRINGS)]: random.pick(STRINGS) } }
      : {}),
  };
  return {
    apiVersion: random.below(30) === 0 ? random.pick(STRINGS) : API,
    kind,
    metadata,
    spec,
    ...(random.below(10) === 0 ? { [random.pick(STRINGS)]: hostileValue(random), status: hostileValue(random) } : {}),
  };
}

/** One of `among` fields is replaced, at any depth; sometimes one is left out or added. */
function spoiled(random: Random, value: unknown, among: number): unknown {
  if (random.below(among) === 0) return hostileValue(random);
  if (Array.isArray(value)) return value.map((item: unknown) => spoiled(random, item, among));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(() => random.below(12) > 0);
  if (random.below(12) === 0) fields.push([random.pick(STRINGS).slice(0, 300), hostileValue(random)]);
  return Object.fromEntries(fields.map(([field, held]) => [field, spoiled(random, held, among)]));
}

function hostileValue(random: Random): unknown {
  // The very long ones are rare: they are not what costs a case its insight.
  const text = random.pick(STRINGS);
  if (random.below(3) === 0) return random.pick(VALUES);
  return text.length > 1_000 && random.below(20) > 0 ? text.slice(0, 300) : text;
}
