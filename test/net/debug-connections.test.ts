/** `earshot debug conn` at both ends of connections of a real client. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectionRecord } from '../../src/router/contract.ts';
import { eventually, startLinkedPair, type Site } from './harness/index.ts';

async function connections(site: Site, ...words: readonly string[]): Promise<readonly ConnectionRecord[]> {
  const text = await site.earshot(['debug', 'conn', '-o', 'json', ...words]);
  return (JSON.parse(text) as { readonly items: readonly ConnectionRecord[] }).items;
}

const idsOf = (records: readonly ConnectionRecord[]): readonly string[] => records.map(({ id }) => id).sort();

test('connections of iperf3 are listed at both sites with the same IDs, and one that is ended there ends the client', async (t) => {
  await using pair = await startLinkedPair(t, { iperf3: 5201 });
  const { west, east, client, server } = pair;
  await pair.ready();
  const refused = await client.attempt(['iperf3', '-c', '127.0.0.1', '-p', '5201', '-t', '1']);
  assert.notEqual(refused.code, 0, 'no server yet');
  const [failed] = await connections(east, '--state', 'failed', '--site', 'west');
  assert.deepEqual([failed?.key, failed?.end, failed?.halves], ['iperf3', 'refused', ['last']]);
  assert.equal(
    (await connections(west, '--state', 'failed')).some(({ id }) => id === failed?.id),
    true,
  );

  await using _serving = await server.spawn(['iperf3', '-s', '-p', '5201']);
  await server.listening(5201);
  const running = client.attempt(['iperf3', '-c', '127.0.0.1', '-p', '5201', '-t', '60', '-b', '10M'], { timeoutMs: 100_000 });
  const busy = await eventually('both connections of iperf3', async () => {
    const open = await connections(west, '--key', 'iperf3');
    return open.length === 2 && open.some(({ bytes }) => bytes.up > 1_000_000) ? open : undefined;
  });
  assert.deepEqual(idsOf(await connections(east, '--site', 'west')), idsOf(busy));
  const [data] = busy.toSorted((a, b) => b.bytes.up - a.bytes.up);
  const id = data?.id ?? '';
  assert.deepEqual([data?.from.siteName, data?.from.client, data?.to.siteName], ['west', '127.0.0.1', 'east']);
  const [far] = await connections(east, id);
  assert.deepEqual([far?.halves, far?.to.server], [['last'], '127.0.0.1:5201']);
  await west.earshot(['debug', 'conn', id, '--end']);
  assert.notEqual((await running).code, 0);
  const endAt = (site: Site): Promise<string | null> =>
    eventually('its end', async () => (await connections(site, id)).find(({ state }) => state === 'ended')?.end);
  assert.deepEqual([await endAt(west), await endAt(east)], ['command', 'other-router']);
});
