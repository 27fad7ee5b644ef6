import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  connector,
  createNetwork,
  eventually,
  failuresOf,
  linkByToken,
  listener,
  startNginx,
  startRequests,
  startSite,
} from './harness/index.ts';

test('a link to a site that has two addresses is opened at the other one when the wire of the first is cut', async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'east'], segments: { one: ['west', 'east'], two: ['west', 'east'] }, test: t });
  const [client, server] = [net.host('west'), net.host('east')];
  const [west, east] = await Promise.all([
    startSite(client, { resources: [listener('web', '0.0.0.0', 8080)] }),
    startSite(server, { access: true, resources: [connector('web', '127.0.0.1', 80)] }),
  ]);
  await startNginx(server, { port: 80 });
  await linkByToken(west, east);
  await west.waitFor('Listener', 'web');
  const requests = await startRequests(client, 'http://127.0.0.1:8080/');
  assert.deepEqual(failuresOf(await requests.next(20)), []);

  const wires = { one: server.on('one'), two: server.on('two') } as const;
  /** On which wire the link's connections are. */
  const wireOfLink = async (): Promise<string> => {
    const rows = await client.run(['ss', '-Htn', 'state', 'established', 'dport = :55671']);
    return Object.entries(wires)
      .filter(([, { v4, v6 }]) => rows.includes(v4) || rows.includes(`[${v6}]`))
      .map(([wire]) => wire)
      .join();
  };
  let wire = 'one';
  await eventually('the link to be on the first wire', async () => (await wireOfLink()) === wire);

  for (const next of ['two', 'one']) {
    await server.silence(wire);
    await eventually(`the link to be on the wire ${next}`, async () => (await wireOfLink()) === next);
    // Its connections are there before it carries, and the status may still be the one from before the cut.
    await eventually('the listener to be open again', async () => (await west.metric('earshot_router_listeners_listening')) === 1);
    await west.waitFor('Listener', 'web');
    assert.deepEqual(failuresOf(await requests.next(20)), []);
    await server.restore(wire);
    wire = next;
  }
});
