import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  connector,
  createNetwork,
  eventually,
  linkByToken,
  listener,
  manifest,
  startIperf3,
  startNginx,
  startRedis,
  startSite,
  startSteady,
} from './harness/index.ts';

interface Interval {
  readonly sum: { readonly bytes: number };
}

/** Half of it is left when a renewal begins: that long may a busy machine take for one. */
const LIFETIME_SECONDS = 20;
const RENEWALS = 3;
/** Longest pause of a running download on a busy machine. */
const LONGEST_PAUSE_SECONDS = 5;

/** The most intervals in a row without a byte. */
function longestPause(intervals: readonly Interval[]): number {
  const runs = intervals
    .map(({ sum }) => (sum.bytes === 0 ? '0' : ' '))
    .join('')
    .split(' ');
  return Math.max(...runs.map(({ length }) => length));
}

// Side by side: each waits for certificates to end.
describe('certificates of links', { concurrency: true }, () => {
  it('that live for twenty seconds are renewed under load, and no request and no connection is lost', async (t) => {
    await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
    const [client, server] = [net.host('west'), net.host('east')];
    const services = { web: 80, bulk: 5201, steady: 6379 };
    await startNginx(server, { port: 80 });
    await startIperf3(server, { port: 5201 });
    await startRedis(server, { port: 6379 });
    const east = await startSite(server, {
      resources: [
        manifest('Site', 'east', { linkAccess: 'default', settings: { 'link-certificate-lifetime': `${LIFETIME_SECONDS}s` } }),
        ...Object.entries(services).map(([key, port]) => connector(key, '127.0.0.1', port)),
      ],
    });
    const west = await startSite(client, { resources: Object.entries(services).map(([key, port]) => listener(key, '127.0.0.1', port)) });
    await linkByToken(west, east);
    for (const key of Object.keys(services)) await west.waitFor('Listener', key);
    const steady = await startSteady(client, 6379);
    const renewals = (): number => [...west.process.output.matchAll(/certificate of the link renewed/g)].length;
    const before = renewals();
    const seconds = (LIFETIME_SECONDS / 2) * RENEWALS;
    const [wrk, iperf3] = await Promise.all([
      client.run(['wrk', '-t', '1', '-c', '20', '-d', `${seconds}s`, '--timeout', '30s', 'http://127.0.0.1:80/'], { timeoutMs: 120_000 }),
      // Not as fast as it can: what is to be seen is that it goes on.
      client.run(['iperf3', '-c', '127.0.0.1', '-p', '5201', '-t', String(seconds), '-b', '200M', '--json'], { timeoutMs: 120_000 }),
    ]);
    await eventually(`${RENEWALS} renewals`, () => renewals() - before >= RENEWALS, { timeoutMs: 20_000 });
    assert.doesNotMatch(wrk, /Socket errors|Non-2xx/, wrk);
    const requests = Number(/(\d+) requests in/.exec(wrk)?.[1]);
    assert.ok(requests > 1000, wrk);
    // As iperf3 documents it.
    const { intervals } = JSON.parse(iperf3) as { readonly intervals: readonly Interval[] };
    assert.ok(
      longestPause(intervals) <= LONGEST_PAUSE_SECONDS,
      `bytes all the while, but: ${intervals.map(({ sum }) => sum.bytes).join(' ')}`,
    );
    await steady.unharmed();
    assert.equal((await west.status('Listener', 'web'))?.status, 'Ready');
  });

  it('that are not renewed in time end their link, and its status says so', async (t) => {
    await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
    const east = await startSite(net.host('east'), {
      resources: [
        manifest('Site', 'east', { linkAccess: 'default', settings: { 'link-certificate-lifetime': `${LIFETIME_SECONDS}s` } }),
        connector('web', '127.0.0.1', 80),
      ],
    });
    const west = await startSite(net.host('west'), { resources: [listener('web', '127.0.0.1', 80)] });
    await startNginx(net.host('east'), { port: 80 });
    const token = `${net.host('east').dir}/token.yaml`;
    await east.earshot(['token', 'issue', token]);
    await west.earshot(['token', 'redeem', token, '--name', 'east']);
    await west.waitFor('Listener', 'web');
    // As a bundle of the person's own, it is the person who renews it.
    const issued = `${west.layout.internal.certs}/east`;
    await west.bundle('east', { cert: `${issued}/tls.crt`, key: `${issued}/tls.key`, ca: `${issued}/ca.crt` });
    const { message } = await west.waitFor(
      'Link',
      'east',
      ({ status, message: words = '' }) => status === 'Error' && /expired at/.test(words),
    );
    assert.match(message ?? '', /expired at \d{4}-\d\d-\d\dT.*the clock here is at \d{4}-\d\d-\d\dT/);
    await west.waitFor('Listener', 'web', 'Pending');
    // A new token for the same link, and everything is well again.
    await net.host('west').run(['rm', '-r', `${west.layout.input.certs}/east`]);
    await linkByToken(west, east);
    await west.waitFor('Listener', 'web');
  });
});
