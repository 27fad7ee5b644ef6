import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { allPermissions, isPermitted, visibleChanges, type Permissions } from '../../../src/console/permissions.ts';
import { visibleState } from '../../../src/console/visible-state.ts';
import { exposedObjects } from './exposed-cluster.ts';
import { memoryState, memoryWatcher, object } from './memory-sources.ts';

const user = (...kinds: readonly string[]): Permissions => ({
  kinds: new Set(kinds),
  connections: false,
  revocations: false,
  exposure: false,
  classes: false,
  probe: false,
});

const exposing = (...kinds: readonly string[]): Permissions => ({ ...user(...kinds), exposure: true });

suite('permissions of a user of the console', () => {
  const cases: readonly (readonly [path: string, who: string, permissions: Permissions, permitted: boolean])[] = [
    ['overview', 'a user without rights', user(), false],
    ['resources/Listener', 'a user without Sites', user('Listener'), false],
    ['overview', 'a user of Sites', user('Site'), true],
    ['stream', 'a user of Sites', user('Site'), true],
    ['keys/web', 'a user of Sites', user('Site'), true],
    ['resources/all', 'a user of Sites', user('Site'), true],
    ['resources/Listener', 'a user of Sites', user('Site'), false],
    ['resources/Listener/web', 'a user of Sites and Listeners', user('Site', 'Listener'), true],
    ['connections', 'a user of Sites', user('Site'), false],
    ['connections', 'a user of connections', { ...user('Site'), connections: true }, true],
    ['revocations', 'a user of Sites', user('Site'), false],
    ['revocations', 'a user of the record', { ...user('Site'), revocations: true }, true],
    ['exposure/listeners', 'a user of Sites', user('Site', 'Listener'), false],
    ['exposure/listeners', 'a user of exposed objects', exposing('Site'), true],
    ['exposure/listeners', 'a user of exposed objects without Sites', exposing(), false],
    ['explain/listeners.listeners.stackable.tech/a', 'a user of Sites and Listeners', user('Site', 'Listener'), false],
    ['explain/listeners.listeners.stackable.tech/a', 'a user of exposed objects', exposing('Site'), true],
    ['explain/Listener/a', 'a user of exposed objects', exposing('Site'), false],
    ['explain/Pod/a', 'a user of Sites', user('Site'), false],
    ['explain/Pod/a', 'a user of exposed objects', exposing('Site'), true],
    ['explain/pvc/a', 'a user of exposed objects', exposing('Site'), false],
    ['explain/ListenerClass/a', 'a user of exposed objects', exposing('Site'), false],
    ['explain/ListenerClass/a', 'a user of ListenerClasses', { ...user('Site'), classes: true }, false],
    ['explain/ListenerClass/a', 'a user of exposed objects and ListenerClasses', { ...exposing('Site'), classes: true }, true],
    ['explain/Listener/web', 'a user of Sites', user('Site'), false],
    ['explain/key/web', 'a user of Sites and Listeners', user('Site', 'Listener'), false],
    ['explain/key/web', 'a user of Sites, Listeners and Connectors', user('Site', 'Listener', 'Connector'), true],
    ['explain/connection/id', 'a user of Sites', user('Site'), false],
    ['explain/connection/id', 'a user of connections', { ...user('Site'), connections: true }, true],
    ['anything', 'a user of Sites', user('Site'), false],
    ['anything', 'a user of this machine', allPermissions, true],
  ];
  for (const [path, who, permissions, permitted] of cases) {
    test(`${permitted ? 'permit' : 'refuse'} ${path} for ${who}`, () => {
      assert.equal(isPermitted(permissions, path.split('/')), permitted);
    });
  }

  test('hide objects and problems of other kinds from views', async () => {
    const state = memoryState();
    state.objects = [...state.objects, object('Connector', 'secret', { routingKey: 'web', host: 'h', port: 1 }, 'Pending', 'refused')];
    const watcher = memoryWatcher(state);
    await watcher.read();
    const seen = visibleState(watcher, user('Site', 'Listener'));
    assert.deepEqual(
      seen.facts.objects.map(({ kind }) => kind),
      ['Site', 'Listener', 'Listener'],
    );
    assert.deepEqual(
      seen.overview().problems.map(({ object: named }) => named),
      ['Listener/billing'],
    );
    assert.ok(watcher.problems.some(({ object: named }) => named === 'Connector/secret'));
  });

  const counted = ['Site', 'Link', 'Listener', 'MultiKeyListener', 'Connector', 'AttachedConnector', 'AttachedConnectorBinding'];
  const viewer = user(...counted, 'RouterAccess', 'Certificate', 'SecuredAccess');
  const views: readonly (readonly [who: string, permissions: Permissions, headline: string, problems: number])[] = [
    ['who may get all counted kinds', viewer, 'Ready, but 1 Listener is not', 1],
    ['of Sites', user('Site'), 'Ready', 0],
    ['without a right to Links', user(...counted.filter((kind) => kind !== 'Link')), 'Ready', 0],
  ];
  for (const [who, permissions, headline, problems] of views) {
    test(`${problems === 0 ? 'hide' : 'show'} counts of problems for a user ${who}`, async () => {
      const watcher = memoryWatcher(memoryState());
      await watcher.read();
      const { overview, keys } = visibleState(watcher, permissions);
      assert.deepEqual([overview().site?.headline, keys.find(({ key }) => key === 'billing')?.problems], [headline, problems]);
      const site = { name: 'west', status: 'Ready', headline: 'Ready, but 1 Listener is not' };
      assert.deepEqual(visibleChanges(permissions, 'overview', { overview: { site } }), { overview: { site: { ...site, headline } } });
      assert.deepEqual(visibleChanges(permissions, 'keys', { billing: { problems: 1 }, web: { open: 2 }, gone: null }), {
        billing: { problems },
        web: { open: 2 },
        gone: null,
      });
    });
  }

  test('hide the Links of this site without the right to get Links', async () => {
    const watcher = memoryWatcher(memoryState());
    await watcher.read();
    assert.deepEqual(visibleState(watcher, user('Site')).facts.links, []);
    assert.equal(visibleState(watcher, user('Site', 'Link')).facts.links.length, 1);
  });

  test('hide changes of other kinds from a stream', () => {
    const changes = { 'Listener/web': { status: 'Ready' }, 'Link/hub': { status: 'Error' } };
    assert.deepEqual(visibleChanges(user('Site', 'Listener'), 'resources', changes), { 'Listener/web': { status: 'Ready' } });
    assert.equal(visibleChanges(user('Site'), 'problems', changes), undefined);
    const overview = { overview: { sites: 2, changes: [{ kind: 'Listener' }, { kind: 'Link' }] } };
    assert.deepEqual(visibleChanges(user('Site', 'Link'), 'overview', overview), { overview: { sites: 2, changes: [{ kind: 'Link' }] } });
    assert.deepEqual(visibleChanges(user('Site'), 'links', { 'out/hub': {}, 'in/x/0': {} }), { 'in/x/0': {} });
  });

  test('report that the Site is missing to a user of Sites, and to no other user', () => {
    const changes = { 'Site missing': null };
    assert.deepEqual(visibleChanges(user('Site'), 'problems', changes), changes);
    assert.equal(visibleChanges(exposing('Link'), 'problems', changes), undefined);
  });

  test('hide exposed objects, and problems of what they need, from a stream', () => {
    const changes = { 'Pod/a Error': {}, 'Lease/earshot-controller Error': {}, 'listeners.listeners.stackable.tech/a Error': {} };
    assert.equal(visibleChanges(user('Site', 'Listener'), 'problems', changes), undefined);
    assert.deepEqual(visibleChanges(exposing('Site'), 'problems', changes), changes);
    const ofPlace = { 'process/earshot not running': {}, 'site/east silent': {} };
    assert.deepEqual(visibleChanges(user('Site'), 'problems', { ...changes, ...ofPlace }), ofPlace);
  });

  test('send no change of the overview without a visible field', () => {
    for (const exposure of [{ listeners: 3 }, null]) {
      const counts = { overview: { exposure } };
      assert.equal(visibleChanges(user('Site'), 'overview', counts), undefined);
      assert.deepEqual(visibleChanges(exposing('Site'), 'overview', counts), counts);
      assert.deepEqual(visibleChanges(user('Site'), 'overview', { overview: { sites: 2, exposure } }), { overview: { sites: 2 } });
    }
  });

  test('hide exposed objects from views without the right to list them, and ListenerClasses without theirs', async () => {
    const state = memoryState();
    state.cluster = { objects: exposedObjects() };
    const watcher = memoryWatcher(state);
    await watcher.readExposure();
    await watcher.read();
    const seenBy = (permissions: Permissions) => {
      const { facts, problems, overview } = visibleState(watcher, permissions);
      const exposed = problems.filter(({ kind }) => kind.startsWith('listeners.') || kind === 'Pod');
      return [facts.exposure?.listeners.length, facts.exposure?.classes.length, overview().exposure?.listeners, exposed.length];
    };
    assert.deepEqual(seenBy({ ...user('Site', 'Listener'), classes: true }), [undefined, undefined, undefined, 0]);
    assert.deepEqual(seenBy(exposing('Site')), [3, 0, 3, 3]);
    assert.deepEqual(seenBy({ ...exposing('Site'), classes: true }), [3, 2, 3, 3]);
  });
});
