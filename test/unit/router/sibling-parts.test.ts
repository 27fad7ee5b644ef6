import assert from 'node:assert/strict';
import { mkdtempDisposable } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ListenerConfig, RouterConfig, SiblingPartState } from '../../../src/router/contract.ts';
import { LinkError } from '../../../src/router/link/link-errors.ts';
import { readSiblingPart, siblingPartFormat } from '../../../src/router/link/sibling-parts.ts';
import { MOST_MESSAGE_BYTES } from '../../../src/router/link/session/framing.ts';
import { freePort } from '../support/free-port.ts';
import { siteConfig, start, until } from './support/site.ts';

const message = (value: unknown): Buffer => Buffer.concat([Buffer.from([0xf5]), Buffer.from(JSON.stringify(value))]);
const problem = { code: 'port-in-use', message: 'taken' } as const;

for (const [what, state] of [
  ['a listener', { listener: { listening: true, reachableKeys: ['a', 'b'] } }],
  [
    'a listener that does not work',
    {
      listener: {
        listening: false,
        reachableKeys: [],
        refusedBy: ['x'],
        lostSites: [{ routingKey: 'a', siteId: 'x', siteName: 'east', since: 7, reason: 'It ended.' }],
        problem,
      },
    },
  ],
  ['a connector', { connector: { matched: true } }],
  ['a connector whose server was not tried', { connector: { matched: false, servers: { kind: 'untried' } } }],
  ['a connector that does not work', { connector: { matched: true, problem, servers: { kind: 'failing', problem, worked: true } } }],
  ['nothing any more', undefined],
] as const satisfies readonly (readonly [string, SiblingPartState | undefined])[]) {
  test(`a report of ${what} is read as it was written`, () => {
    const text = siblingPartFormat.write('Listener/a', state);
    assert.deepEqual(readSiblingPart(message(JSON.parse(text))), { name: 'Listener/a', state });
  });
}

test('a report is limited and printable, whatever the other router sends', () => {
  const keys = Array.from({ length: 500 }, (_, at) => `${at}`.padStart(253, 'k'));
  const lost = { routingKey: 'a', siteId: 'x', siteName: 'y', since: 1, reason: 'r'.repeat(9_000) };
  const text = siblingPartFormat.write('Listener/a', {
    listener: { listening: true, reachableKeys: keys, refusedBy: keys, lostSites: Array.from({ length: 8 }, () => lost) },
  });
  assert.ok(text.length < MOST_MESSAGE_BYTES);
  const odd = { code: 'constructor', message: `\u202e${'x'.repeat(900)}` };
  const { state } = readSiblingPart(
    message({ part: 'Listener/a', listener: { listening: true, reachableKeys: [7, 'a\nb', 'c'], problem: odd } }),
  );
  assert.deepEqual(state?.listener?.reachableKeys, ['c']);
  assert.equal(state.listener.problem?.code, 'failed');
  assert.equal(state.listener.problem.message.length, 300);
  for (const value of [null, 7, [], {}, { part: '' }, { part: 'a\nb' }, { part: 'x'.repeat(301) }]) {
    assert.throws(() => readSiblingPart(message(value)), LinkError);
  }
  for (const value of [{}, { listener: 7 }, { listener: { listening: 'yes' } }, { connector: [] }]) {
    assert.equal(readSiblingPart(message({ part: 'Listener/a', ...value })).state, undefined);
  }
});

test('the router of a network reports its listeners to the others, which keep their own ports, and no report outlives it', async () => {
  await using directory = await mkdtempDisposable('/tmp/earshot-parts-');
  const [host, net] = [join(directory.path, 'host'), join(directory.path, 'net')];
  const base = siteConfig('west');
  const listener = (name: string, port: number): ListenerConfig => {
    return { name, host: '127.0.0.1', port, destination: { kind: 'key', routingKey: 'a' }, observer: 'none' };
  };
  const siblings = (socket: string, others: readonly string[]): NonNullable<RouterConfig['siblings']> => ({
    kind: 'unix',
    socket,
    others,
    sharesPorts: false,
  });
  await using first = await start({
    ...base,
    router: 'host',
    listeners: [listener('Listener/h', await freePort())],
    siblings: siblings(host, [net]),
  });
  await using second = await start({
    ...base,
    router: 'net',
    network: 'apps',
    listeners: [listener('Listener/n', await freePort())],
    connectors: [{ name: 'Connector/c', routingKey: 'a', hosts: ['127.0.0.1'], port: 9, probe: 'none' }],
    siblings: siblings(net, [host]),
  });
  // Each part has a report of its own.
  await until(first, 'the listener and the connector of the network', ({ siblingParts: { net: parts } = {} }) => {
    return parts?.['Listener/n']?.listener?.listening === true && parts['Connector/c'] !== undefined;
  });
  assert.deepEqual(first.state.siblingParts?.['net']?.['Connector/c'], { connector: { matched: true } });
  await until(second, 'the other router', ({ siblingParts }) => siblingParts?.['host'] !== undefined);
  assert.deepEqual(second.state.siblingParts, { host: {} });
  await second[Symbol.asyncDispose]();
  await until(first, 'nothing to be known', ({ siblingParts }) => siblingParts === undefined);
});
