import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  connector,
  createNetwork,
  eventually,
  linkByToken,
  listener,
  startNginx,
  startRedis,
  startSite,
  startSteady,
  type Host,
  type Program,
  type Site,
} from './harness/index.ts';

/** Milliseconds in each direction. */
const DELAY = 1_500;
/** Milliseconds in which nothing passes, from SIGUSR2 on. */
const PAUSE = 10_000;
const ACCESS_PORT = 55671;
const RELAY_PORT = 9_999;

/** Delays each chunk and keeps their order. TCP itself stays fast, so only what passes through the relay is slow. */
const RELAY = `
  const net = require('node:net');
  const queues = new Set();
  let pausedUntil = 0;
  process.on('SIGUSR2', () => {
    pausedUntil = Date.now() + ${PAUSE};
    setTimeout(() => { console.log('resumed'); for (const flush of queues) flush(); }, ${PAUSE});
    console.log('paused');
  });
  const pass = (from, to) => {
    const queue = [];
    const flush = () => {
      while (queue.length > 0 && queue[0].at <= Date.now() && Date.now() >= pausedUntil) queue.shift().run();
    };
    const later = (run) => { queue.push({ at: Date.now() + ${DELAY}, run }); setTimeout(flush, ${DELAY} + 1); };
    queues.add(flush);
    from.on('data', (chunk) => later(() => to.write(chunk)));
    from.on('end', () => later(() => to.end()));
    from.on('close', () => later(() => { to.destroy(); queues.delete(flush); }));
    from.on('error', () => {});
  };
  net.createServer({ allowHalfOpen: true }, (near) => {
    const far = net.connect({ port: ${ACCESS_PORT}, host: '127.0.0.1', allowHalfOpen: true });
    pass(near, far);
    pass(far, near);
  }).listen(${RELAY_PORT}, '0.0.0.0');
`;

/** Puts the relay between a host and the access of another. */
async function slowDown(from: Host, to: Host): Promise<Program> {
  const relay = await to.spawn([process.execPath, '-e', RELAY], { name: 'relay' });
  await relay.ready(() => to.listens(RELAY_PORT));
  const [match, redirect] = [
    ['-s', from.v4, '-p', 'tcp', '--dport', String(ACCESS_PORT)],
    ['-j', 'REDIRECT', '--to-ports', String(RELAY_PORT)],
  ];
  await to.run(['iptables', '-w', '-t', 'nat', '-A', 'PREROUTING', ...match, ...redirect]);
  await from.drop(to.v6, ACCESS_PORT);
  return relay;
}

const passed = async (site: Site): Promise<number> => site.metric('earshot_router_transit_connections_total');

test('a pause of 10 s on a path with round trips of 3 s ends no open connection, and new ones take another path', async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'middle', 'east'], test: t });
  const [client, server] = [net.host('west'), net.host('east')];
  await startNginx(server, { port: 80 });
  await startRedis(server, { port: 6379 });
  const [west, middle, east] = await Promise.all([
    startSite(client, { resources: [listener('web', '0.0.0.0', 8080), listener('redis', '0.0.0.0', 6379)] }),
    startSite(net.host('middle'), { access: true }),
    startSite(server, { access: true, resources: [connector('web', '127.0.0.1', 80), connector('redis', '127.0.0.1', 6379)] }),
  ]);
  const relay = await slowDown(client, server);
  await linkByToken(west, east);
  await west.waitFor('Listener', 'redis', 'Ready', { timeoutMs: 90_000 });
  const steady = await startSteady(client, 6379);
  const ask = async (): Promise<number> => {
    const began = performance.now();
    assert.equal(await client.run(['curl', '-sS', '--max-time', '25', 'http://127.0.0.1:8080/']), 'hello from east\n');
    return (performance.now() - began) / 1_000;
  };
  t.diagnostic(`a request takes ${(await ask()).toFixed(1)} s`);
  await linkByToken(middle, east);
  await linkByToken(west, middle, { cost: 10 });
  await eventually('west to have both links', async () => (await west.metric('earshot_router_links')) === 2);
  const before = await passed(middle);

  relay.signal('SIGUSR2');
  await eventually('the pause to begin', () => relay.output.includes('paused'), { everyMs: 20 });
  const took = await ask();
  t.diagnostic(`a request that began with the pause took ${took.toFixed(1)} s`);
  assert.ok((await passed(middle)) > before);

  await eventually('the pause to end', () => relay.output.includes('resumed'), { everyMs: 20 });
  await steady.unharmed();
});
