import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { kubernetes } from '../../../src/site/cluster-platform.ts';
import type { NamespaceService } from '../../../src/site/material.ts';
import { planSite } from '../../../src/site/plan/plan.ts';
import { servicePorts, type ServicePlan } from '../../../src/site/plan/service-ports.ts';
import type { SiteObject } from '../../../src/site/resources.ts';
import { aListener, aMaterial, aMultiKeyListener, aRouterAccess, aSite, resources } from './fixtures.ts';

function plan(objects: readonly SiteObject[], services: readonly NamespaceService[] = [], podKeys: readonly string[] = []): ServicePlan {
  return servicePorts(resources(...objects), { services, podKeys });
}

/** `backend/web 8080>1024` */
function ports({ services }: ServicePlan): readonly string[] {
  return services.flatMap(({ name, ports: own }) => own.map((each) => `${name}/${each.name} ${each.port}>${each.routerPort}`));
}

function told({ problems }: ServicePlan): readonly string[] {
  return problems.map(({ severity, resource, field, message }) => `${severity} ${resource} ${field}: ${message}`);
}

/** The namespace's Services once the plan is carried out. */
function carriedOut({ services }: ServicePlan, others: readonly NamespaceService[] = []): readonly NamespaceService[] {
  const created = services.map(({ name, label, controlled, ports: own }) => ({
    name,
    label,
    controlled,
    ports: own.map(({ name: portName, port, routerPort }) => ({ name: portName, port, targetPort: routerPort })),
  }));
  return [...others.filter(({ label }) => label === undefined), ...created];
}

const foreign = (name: string): NamespaceService => ({ name, controlled: false, ports: [{ name: '', port: 80, targetPort: 80 }] });
const ours = (name: string, ...own: readonly (readonly [string, number, number | string])[]): NamespaceService => ({
  name,
  label: own[0]?.[0] ?? '',
  controlled: true,
  ports: own.map(([portName, port, targetPort]) => ({ name: portName, port, targetPort })),
});
const at = (host: string, port: number) => ({ host, port });

describe('ports of routers', () => {
  test('begin at 1024, one for each listener of whichever kind, and those of one host share a Service', () => {
    const planned = plan([
      aListener('web', at('backend', 8080)),
      aListener('admin', at('backend', 9090)),
      aMultiKeyListener('both', at('other', 80)),
    ]);
    assert.deepEqual(ports(planned), ['backend/admin 9090>1024', 'backend/web 8080>1025', 'other/multiaddress-both 80>1026']);
    assert.deepEqual(told(planned), []);
  });

  test('stay what the Services say, also where others came and went before them', () => {
    const services = [ours('backend', ['web', 8080, 1030]), ours('other', ['admin', 80, 1025])];
    const planned = plan(
      [aListener('aaa', at('new', 1)), aListener('web', at('backend', 8081)), aListener('admin', at('other', 80))],
      services,
    );
    assert.deepEqual(ports(planned), ['new/aaa 1>1024', 'other/admin 80>1025', 'backend/web 8081>1030']);
    assert.deepEqual(
      planned.ports.map(({ held, applied }) => [held, applied]),
      [
        [false, false],
        [true, true],
        [true, false],
      ],
    );
  });

  for (const [why, target] of [
    ['that another listener has', 1024],
    ['of the router itself', 9090],
    ['of a RouterAccess', 7000],
    ['below 1024', 80],
    ['that is a name', 'http'],
    ['that is out of range', 65_536],
  ] as const) {
    test(`are assigned again if a Service leads to one ${why}`, () => {
      const planned = plan(
        [aListener('a', at('a', 1)), aListener('b', at('b', 1)), aRouterAccess('ra', { roles: [{ name: 'edge', port: 7000 }] })],
        [ours('a', ['a', 1, 1024]), ours('b', ['b', 1, target])],
      );
      assert.deepEqual(ports(planned), ['a/a 1>1024', 'b/b 1>1025']);
    });
  }

  test('are reported as used up to listeners without one', () => {
    const many = Array.from({ length: 64_600 }, (_, index) => aListener(`l${String(index).padStart(5, '0')}`, at('one', index + 1)));
    const { ports: given, problems } = plan(many);
    assert.equal(new Set(given.map(({ routerPort }) => routerPort)).size, given.length);
    assert.ok(given.every(({ routerPort }) => routerPort >= 1024 && routerPort <= 65_535));
    assert.equal(given.length + problems.length, many.length);
    assert.deepEqual(new Set(problems.map(({ code }) => code)), new Set(['no-router-port']));
  });
});

describe('a host that cannot be', () => {
  for (const host of ['10.0.0.1', '::1', 'back.end', 'Backend', '2nd', 'a_b', '-a', 'a-', 'a'.repeat(64)]) {
    test(`a Service, ${host.slice(0, 12)}, is reported`, () => {
      const planned = plan([aListener('web', at(host, 80)), aListener('well', at('well', 80))]);
      assert.deepEqual(ports(planned), ['well/well 80>1024']);
      assert.match(told(planned)[0] ?? '', /^error Listener\/web spec\.host: .* cannot be the name of a Service: use /);
    });
  }

  for (const [what, host, others] of [
    ['the Service of another owner', 'web', []],
    ['the router', 'skupper-router', []],
    ['the second router', 'skupper-router-2', []],
    ["the router's own clients", 'skupper-router-local', []],
    ['a RouterAccess', 'ra', [aRouterAccess('ra')]],
    ['a RouterAccess at the second router', 'ra-2', [aRouterAccess('ra')]],
  ] as const) {
    test(`taken, since it is ${what}, is reported`, () => {
      const planned = plan([aListener('l', at(host, 80)), aMultiKeyListener('m', at(host, 81)), ...others], [foreign('web')]);
      assert.deepEqual(ports(planned), []);
      for (const [index, of] of ['Listener/l', 'MultiKeyListener/m'].entries()) {
        const text = told(planned)[index] ?? '';
        assert.ok(text.startsWith(`error ${of} spec.host: Service ${host} already exists in namespace`), text);
      }
    });
  }

  test('taken by a RouterAccess stays with the listener that had it before', () => {
    const planned = plan([aListener('l', at('ra', 80)), aRouterAccess('ra')], [ours('ra', ['l', 80, 1024])]);
    assert.deepEqual(ports(planned), ['ra/l 80>1024']);
  });
});

describe('of two that want one port of a host', () => {
  test('the one that has it keeps it', () => {
    const planned = plan([aListener('a', at('h', 80)), aListener('b', at('h', 80))], [ours('h', ['b', 80, 1024])]);
    assert.deepEqual(ports(planned), ['h/b 80>1024']);
    assert.match(told(planned)[0] ?? '', /^error Listener\/a spec\.port: Listener b with host h and port 80 already exists in namespace/);
  });

  test('the first by name gets it where none has it, and a Listener before a MultiKeyListener', () => {
    const planned = plan([aMultiKeyListener('a', at('h', 80)), aListener('c', at('h', 80)), aListener('b', at('h', 80))]);
    assert.deepEqual(ports(planned), ['h/b 80>1024']);
    assert.deepEqual(
      planned.problems.map(({ resource }) => resource),
      ['Listener/c', 'MultiKeyListener/a'],
    );
  });

  test('a MultiKeyListener keeps what it has', () => {
    const planned = plan([aMultiKeyListener('m', at('h', 80)), aListener('b', at('h', 80))], [ours('h', ['multiaddress-m', 80, 1024])]);
    assert.deepEqual(ports(planned), ['h/multiaddress-m 80>1024']);
    assert.match(told(planned)[0] ?? '', /^error Listener\/b spec\.port: MultiKeyListener m with host h and port 80 already exists/);
  });

  test('one that is wrong by itself has no say', () => {
    const planned = plan([aListener('a', { ...at('h', 80), type: 'udp' }), aListener('b', at('h', 80))]);
    assert.deepEqual(ports(planned), ['h/b 80>1024']);
  });
});

describe('a Service', () => {
  test('with the label is used for the listener, and keeps its owner', () => {
    const [service] = plan([aListener('web', at('h', 80))], [{ ...ours('h', ['before', 80, 1027]), controlled: false }]).services;
    assert.deepEqual([service?.label, service?.controlled, service?.ports.length], ['web', false, 1]);
  });

  test('has the name of one of its listeners for a label, the same while that is there', () => {
    const both = [aListener('a', at('h', 80)), aListener('b', at('h', 81))];
    assert.equal(plan(both).services[0]?.label, 'a');
    assert.equal(plan(both, [ours('h', ['b', 81, 1024])]).services[0]?.label, 'b');
    assert.equal(plan(both, [ours('h', ['gone', 82, 1024])]).services[0]?.label, 'a');
  });

  test('has port names that Kubernetes takes, whatever listeners are called, and no two alike', () => {
    const long = 'l'.repeat(253);
    const names = ['web', 'my.web', 'my-web', long, `${long.slice(1)}x`, 'multiaddress-both'];
    const planned = plan([...names.map((name, index) => aListener(name, at('h', index + 1))), aMultiKeyListener('both', at('h', 99))]);
    const given = new Map(planned.ports.map(({ listener, name }) => [listener, name]));
    assert.equal(given.get('Listener/web'), 'web');
    assert.equal(given.get('MultiKeyListener/both'), 'multiaddress-both');
    assert.match(given.get('Listener/my.web') ?? '', /^my-web-[0-9a-f]{8}$/);
    assert.ok([...given.values()].every((name) => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)));
    assert.equal(new Set(given.values()).size, names.length + 1);
  });
});

describe('pods by name', () => {
  const exposed = (name: string, port = 80) => aListener(name, { ...at(name, port), routingKey: 'key', exposePodsByName: true });

  test('have a Service each, with a port of the routers of its own, that goes with the routing key', () => {
    const objects = [exposed('web'), aListener('other', { ...at('other', 80), routingKey: 'key' })];
    const before = plan(objects, [], ['key.pod-b', 'key.pod-a', 'keys.pod-c', 'key', 'nokey.pod-d']);
    assert.deepEqual(ports(before), ['other/other 80>1024', 'web/web 80>1025', 'pod-a/web 80>1026', 'pod-b/web 80>1027']);
    const after = plan(objects, carriedOut(before), ['key.pod-b']);
    assert.deepEqual(ports(after), ['other/other 80>1024', 'web/web 80>1025', 'pod-b/web 80>1027']);
  });

  test('of two listeners of one key have two ports', () => {
    const planned = plan([exposed('one', 80), exposed('two', 81)], [], ['key.p']);
    assert.deepEqual(ports(planned), ['one/one 80>1024', 'two/two 81>1025', 'p/one 80>1026', 'p/two 81>1027']);
  });

  test('whose names are taken or not names of Services are reported and left out', () => {
    const planned = plan([exposed('web')], [foreign('taken')], ['key.a.b', 'key.1st', 'key.taken', 'key.web', 'key.fine']);
    assert.deepEqual(ports(planned), ['web/web 80>1024', 'fine/web 80>1025']);
    assert.equal(planned.problems.length, 4);
    for (const each of told(planned))
      assert.match(each, /^warning Listener\/web spec\.exposePodsByName: the pod "[^"]+" cannot be reached by its name: /);
  });

  test('are bounded', () => {
    const planned = plan(
      [exposed('web')],
      [],
      Array.from({ length: 1_001 }, (_, index) => `key.p${index}`),
    );
    assert.equal(planned.services.length, 1_001);
    assert.match(told(planned)[0] ?? '', /only 1000 of its 1001 pods/);
  });
});

describe('a site in a cluster', () => {
  const material = (services: readonly NamespaceService[], podKeys: readonly string[] = []) =>
    aMaterial({ capabilities: kubernetes.capabilities, defaults: kubernetes.defaults, services: { services, podKeys } });
  const site = (services: readonly NamespaceService[], podKeys: readonly string[], ...objects: readonly SiteObject[]) =>
    planSite(resources(aSite(), ...objects), material(services, podKeys));

  test('listens at the ports of its Services, at all addresses, and waits for those that are not there', () => {
    const web = aListener('web', { ...at('backend', 8080), exposePodsByName: true });
    const services = [ours('backend', ['web', 8080, 1027]), ours('pod-a', ['web', 8080, 1028])];
    const { config, problems } = site(services, ['web.pod-a', 'web.pod-b'], web, aListener('late', at('late', 80)));
    assert.deepEqual(
      config.listeners.map(({ name, host, port, destination }) => ({ name, host, port, destination })),
      [
        { name: 'Listener/web', host: undefined, port: 1027, destination: { kind: 'key', routingKey: 'web' } },
        { name: 'Listener/web/pod-a', host: undefined, port: 1028, destination: { kind: 'key', routingKey: 'web.pod-a' } },
      ],
    );
    assert.deepEqual(
      problems.map(({ resource, code }) => [resource, code]),
      [['Listener/late', 'service-awaited']],
    );
  });

  test('goes on where it was while the Service gets another port, and says that it waits', () => {
    const { config, problems } = site([ours('h', ['web', 80, 1027])], [], aListener('web', at('h', 81)));
    assert.deepEqual(
      config.listeners.map(({ port }) => port),
      [1027],
    );
    assert.deepEqual(
      problems.map(({ code, runs }) => [code, runs]),
      [['service-awaited', true]],
    );
  });

  test('says of a listener what the rule says', () => {
    const { config, problems } = site([foreign('web')], [], aListener('web', at('web', 80)));
    assert.deepEqual(config.listeners, []);
    assert.deepEqual(
      problems.map(({ code }) => code),
      ['service-exists'],
    );
  });
});

test('an applied plan is planned again unchanged, in any order of reading', () => {
  const host = fc.constantFrom('a', 'b', 'c', 'foreign', 'p0', 'p1', 'skupper-router');
  const port = fc.integer({ min: 1, max: 4 });
  const listener = fc.record({ host, port, exposePodsByName: fc.boolean(), routingKey: fc.constantFrom('k', 'l') });
  const multi = fc.record({ host, port });
  const target = fc.integer({ min: 1022, max: 1030 });
  const service = fc.tuple(fc.constantFrom('a', 'b', 'p0', 'stale'), fc.constantFrom('l0', 'l1', 'multiaddress-m0'), port, target);
  fc.assert(
    fc.property(
      fc.array(listener, { maxLength: 8 }),
      fc.array(multi, { maxLength: 4 }),
      fc.uniqueArray(service, { selector: ([name]) => name }),
      fc.subarray(['k.p0', 'k.p1', 'l.p1', 'l.p2', 'k.foreign']),
      fc.nat(),
      (listeners, multis, before, podKeys, rotation) => {
        const objects = [
          ...listeners.map((spec, index) => aListener(`l${index}`, spec)),
          ...multis.map((spec, index) => aMultiKeyListener(`m${index}`, spec)),
        ];
        const there = [foreign('foreign'), ...before.map(([name, ...rest]) => ours(name, rest))];
        const first = plan(objects, there, podKeys);
        assert.equal(new Set(first.ports.map(({ routerPort }) => routerPort)).size, first.ports.length);
        const after = carriedOut(first, there);
        const turned = rotation % (after.length + 1);
        const second = plan(objects.toReversed(), [...after.slice(turned), ...after.slice(0, turned)], podKeys.toReversed());
        assert.deepEqual(second.services, carriedOutAgain(first));
        assert.deepEqual(second.problems, first.problems);
      },
    ),
  );
});

function carriedOutAgain({ services }: ServicePlan): ServicePlan['services'] {
  return services.map((service) => {
    const [first, ...others] = service.ports;
    const there = { held: true, applied: true };
    return { ...service, ports: [{ ...first, ...there }, ...others.map((each) => ({ ...each, ...there }))] };
  });
}
