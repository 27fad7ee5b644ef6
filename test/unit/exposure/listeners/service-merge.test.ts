import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mergeService } from '../../../../src/exposure/listeners/service-merge.ts';

const http = { name: 'http', port: 80, protocol: 'TCP' };

const withPorts = (...ports: readonly object[]) => ({ spec: { ports } });

function reportsOf(base: object, override: object): readonly string[] {
  const reports: string[] = [];
  mergeService(base, override, (path, message) => reports.push(`${path} ${message}`));
  return reports;
}

describe('a Service merges as Kubernetes merges it', () => {
  const cases: readonly { name: string; base: object; override: object; merged: object }[] = [
    {
      name: 'labels and annotations by key',
      base: { metadata: { labels: { a: '1', b: '1' }, annotations: { x: '1' } } },
      override: { metadata: { labels: { b: '2', c: '2' }, annotations: { y: '2' } } },
      merged: { metadata: { labels: { a: '1', b: '2', c: '2' }, annotations: { x: '1', y: '2' } } },
    },
    {
      name: 'structures field by field, however deep',
      base: { spec: { type: 'ClusterIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } } },
      override: { spec: { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 9 } } } },
      merged: { spec: { type: 'ClusterIP', sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 9 } } } },
    },
    {
      name: 'the selector replaced whole',
      base: { spec: { selector: { a: '1', b: '1' } } },
      override: { spec: { selector: { b: '2' } } },
      merged: { spec: { selector: { b: '2' } } },
    },
    {
      name: 'lists without merge keys replaced whole',
      base: { spec: { externalIPs: ['192.0.2.1', '192.0.2.2'] } },
      override: { spec: { externalIPs: ['192.0.2.3'] } },
      merged: { spec: { externalIPs: ['192.0.2.3'] } },
    },
    {
      name: 'null removing a field, also within a new one',
      base: { metadata: { labels: { a: '1', b: '1' } }, spec: { selector: { a: '1' }, type: 'NodePort' } },
      override: { metadata: { labels: { a: null } }, spec: { selector: null, sessionAffinityConfig: { clientIP: null } } },
      merged: { metadata: { labels: { b: '1' } }, spec: { type: 'NodePort', sessionAffinityConfig: {} } },
    },
    {
      name: 'a port by its number, with another protocol as well',
      base: withPorts(http, { name: 'dns', port: 53, protocol: 'TCP' }),
      override: withPorts({ port: 53, protocol: 'UDP', nodePort: 30_053 }),
      merged: withPorts(http, { name: 'dns', port: 53, protocol: 'UDP', nodePort: 30_053 }),
    },
    {
      name: 'ports that are new added at the end',
      base: withPorts(http),
      override: withPorts({ name: 'metrics', port: 9090 }),
      merged: withPorts(http, { name: 'metrics', port: 9090 }),
    },
    {
      name: 'a port by number and protocol where the base has several of a number',
      base: withPorts({ name: 'dns-tcp', port: 53, protocol: 'TCP' }, { name: 'dns', port: 53, protocol: 'UDP' }),
      override: withPorts({ port: 53, protocol: 'UDP', nodePort: 30_053 }),
      merged: withPorts({ name: 'dns-tcp', port: 53, protocol: 'TCP' }, { name: 'dns', port: 53, protocol: 'UDP', nodePort: 30_053 }),
    },
    {
      name: 'a port by number and protocol where the override has several of a number',
      base: withPorts({ name: 'dns-tcp', port: 53 }),
      override: withPorts({ port: 53, protocol: 'UDP', name: 'dns' }, { port: 53, nodePort: 30_053 }),
      merged: withPorts({ name: 'dns-tcp', port: 53, nodePort: 30_053 }, { port: 53, protocol: 'UDP', name: 'dns' }),
    },
    {
      name: 'a protocol that is left out meaning TCP among several of a number',
      base: withPorts({ name: 'dns', port: 53, protocol: 'UDP' }, { name: 'dns-tcp', port: 53, protocol: 'TCP' }),
      override: withPorts({ port: 53, appProtocol: 'example.com/dns' }),
      merged: withPorts(
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns-tcp', port: 53, protocol: 'TCP', appProtocol: 'example.com/dns' },
      ),
    },
    {
      name: 'null removing a field of a port',
      base: withPorts({ ...http, targetPort: 8080 }),
      override: withPorts({ port: 80, targetPort: null }),
      merged: withPorts(http),
    },
    {
      name: 'owner references by uid',
      base: { metadata: { ownerReferences: [{ uid: 'a', name: 'x' }] } },
      override: {
        metadata: {
          ownerReferences: [
            { uid: 'b', name: 'y' },
            { uid: 'a', controller: true },
          ],
        },
      },
      merged: {
        metadata: {
          ownerReferences: [
            { uid: 'a', name: 'x', controller: true },
            { uid: 'b', name: 'y' },
          ],
        },
      },
    },
    {
      name: 'labels that are named like properties of every object',
      base: { metadata: { labels: { a: '1' } } },
      override: { metadata: { labels: { constructor: 'x', toString: 'y' } } },
      merged: { metadata: { labels: { a: '1', constructor: 'x', toString: 'y' } } },
    },
  ];
  for (const { name, base, override, merged } of cases) {
    it(name, () => {
      assert.deepEqual(mergeService(base, override), merged);
      assert.deepEqual(reportsOf(base, override), []);
    });
  }
});

describe('a part of another shape is left out and reported', () => {
  const base = { metadata: { labels: { a: '1' } }, spec: { type: 'NodePort', ports: [http] } };
  const unidentified = 'spec.ports[0] needs a port, a whole number, which identifies the entry; it is ignored.';
  const cases: readonly { override: object; report: string }[] = [
    { override: { spec: { ports: 'x' } }, report: 'spec.ports must be a list, not a single value; it is ignored.' },
    { override: { spec: { ports: { port: 80 } } }, report: 'spec.ports must be a list, not an object; it is ignored.' },
    { override: { spec: { ports: ['x'] } }, report: unidentified },
    { override: { spec: { ports: [{ port: '80' }] } }, report: unidentified },
    { override: { spec: { selector: 'app=x' } }, report: 'spec.selector must be an object, not a single value; it is ignored.' },
    { override: { spec: 5 }, report: 'spec must be an object, not a single value; it is ignored.' },
    { override: { spec: { type: ['LoadBalancer'] } }, report: 'spec.type must be a single value, not a list; it is ignored.' },
    { override: { metadata: { labels: ['a'] } }, report: 'metadata.labels must be an object, not a list; it is ignored.' },
    {
      override: JSON.parse('{"metadata": {"labels": {"__proto__": {"polluted": "yes"}}}}') as object,
      report: 'metadata.labels.__proto__ is not the name of a field, label or annotation; it is ignored.',
    },
    {
      override: { metadata: { labels: { 'a\nb': ['x'], a: {} } } },
      report: 'metadata.labels.a must be a single value, not an object; it is ignored.',
    },
  ];
  for (const { override, report } of cases) {
    it(`${report} (${JSON.stringify(override)})`, () => {
      assert.deepEqual(reportsOf(base, override), [report]);
      const merged = mergeService(base, override);
      assert.deepEqual(merged['spec'], base.spec);
      assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
    });
  }

  it('in a path that stays on one line and short', () => {
    const [report] = reportsOf({ metadata: { labels: { ['a\n'.repeat(100)]: {} } } }, { metadata: { labels: { ['a\n'.repeat(100)]: 1 } } });
    assert.match(report ?? '', /^metadata\.labels\["a\\na\\n[^\n]{0,250}…"\] must be an object/);
  });
});

it('neither the base nor the override is changed', () => {
  const freeze = (value: object): object => {
    for (const item of Object.values(value)) if (typeof item === 'object' && item !== null) freeze(item as object);
    return Object.freeze(value);
  };
  const base = freeze({ metadata: { labels: { a: '1' } }, spec: { ports: [http], selector: { a: '1' } } });
  const override = freeze({
    metadata: { labels: { a: null, b: '2' } },
    spec: { ports: [{ port: 80, name: 'web' }], selector: { b: '2' } },
  });
  assert.doesNotThrow(() => mergeService(base, override));
});
