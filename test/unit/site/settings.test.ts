import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settingProblems, type PlatformKind } from '../../../src/site/settings.ts';
import type { SiteObject } from '../../../src/site/resources.ts';
import { aConnector, aLink, aListener, aMultiKeyListener, aRouterAccess, aSite } from './fixtures.ts';

const said = (object: SiteObject, settings: Readonly<Record<string, string>>, on: PlatformKind = 'machine'): readonly string[] =>
  // The same kind, with other settings.
  settingProblems({ ...object, spec: { ...object.spec, settings } } as SiteObject, on).map(
    ({ severity, code, field, message }) => `${severity} ${code} ${field} ${message}`,
  );

for (const [what, object, settings, on, expected] of [
  [
    'a name that is close to a known one',
    aListener('a'),
    { observr: 'none' },
    'machine',
    ['observr is unknown and has no effect; did you mean observer?'],
  ],
  [
    'a name that is not',
    aListener('a'),
    { bogus: '1' },
    'machine',
    ['bogus is unknown and has no effect; known settings are observer, request-paths, network'],
  ],
  [
    'a value that cannot be',
    aListener('a'),
    { observer: 'http3' },
    'machine',
    ['observer "http3" is not one of auto, none, http1, http2, so the default applies.'],
  ],
  ['a probe', aConnector('a'), { probe: 'none' }, 'machine', []],
  ['another probe', aConnector('a'), { probe: 'never' }, 'machine', ['probe "never" is not one of auto, none, so the default applies.']],
  ['who may read figures', aSite(), { observe: 'network' }, 'kubernetes', []],
  [
    'an unknown reader of figures',
    aSite(),
    { observe: 'all' },
    'machine',
    ['observe "all" is not one of site, network, none, so the default applies.'],
  ],
  ['what only clusters have', aSite(), { size: 'big' }, 'machine', ['size has no effect without a cluster; remove it.']],
  ['the same in a cluster', aSite(), { size: 'big' }, 'kubernetes', []],
  ['what only machines have', aSite(), { 'grant-port': '1' }, 'kubernetes', ['grant-port has no effect on Kubernetes; remove it.']],
  [
    'numbers that are none',
    aSite(),
    { 'router-data-connection-count': 'many', bogus: '1' },
    'kubernetes',
    [
      'router-data-connection-count "many" is not a whole number, so the default applies.',
      'bogus is unknown and has no effect; known settings are tls-prior-valid-revisions, unmarked-certificates, link-certificate-lifetime, link-suspect-after, link-dead-after, ' +
        'observe, networks, routers, grant-port, size, ingressClassName, router-logging, router-data-connection-count, disable-anti-affinity',
    ],
  ],
  ['what every object inherits', aSite(), { toString: '1' }, 'machine', undefined],
] as const) {
  test(`${what} in settings`, () => {
    const found = said(object, settings, on);
    if (expected === undefined) assert.equal(found.length, 1);
    else
      assert.deepEqual(
        found,
        expected.map((text) => `warning setting spec.settings.${text}`),
      );
  });
}

test('no setting of any kind is passed over in silence, whatever it is called', () => {
  const kinds = [aSite(), aListener('a'), aMultiKeyListener('a'), aConnector('a'), aLink('a'), aRouterAccess('a')];
  for (const object of kinds)
    for (const name of ['x', 'Observer', 'PROBE', 'constructor', '__proto__x', 'tls-prior-valid-revision'])
      assert.equal(said(object, { [name]: 'y' }).length, 1, `${object.kind} ${name}`);
});
