/** Faults on real sites: the first step of an explanation that fails names the cause. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  connector,
  createAuthority,
  createNetwork,
  issue,
  listener,
  manifest,
  startLinkedPair,
  startNginx,
  startSite,
  type Site,
} from './harness/index.ts';
import { explain, fails } from './harness/explanations.ts';

const PORT = 7100;
const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';
const clock = (offset: string): Readonly<Record<string, string>> => ({
  LD_PRELOAD: FAKETIME,
  FAKETIME: offset,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
});

/** Links `from` with `to`, by this name. */
async function linkNamed(name: string, from: Site, to: Site): Promise<void> {
  const file = `${await to.host.folder('token')}/token.yaml`;
  await to.earshot(['token', 'issue', file]);
  await from.earshot(['token', 'redeem', file, '--name', name]);
}

test('an explanation names the fault of a server, a key, a port, a host and a file', async (t) => {
  await using pair = await startLinkedPair(t, { web: PORT });
  const { west, east, client } = pair;
  await pair.ready();

  // Before any client came.
  await fails(t, east, 'connector web', 'connector.server', 'target-refused', /nothing is listening at 127\.0\.0\.1:7100/);
  await fails(t, west, 'listener web', 'listener.server', 'servers-failing', /at east/);

  await west.apply(listener('upper', '127.0.0.1', 7101, { routingKey: 'Web' }));
  await fails(
    t,
    west,
    'listener upper',
    'listener.key',
    'no-connector',
    /did you mean "web" \(east\)\?.*listener update upper --routing-key web/,
  );

  await startNginx(client, { port: 7102 });
  await west.apply(listener('taken', '127.0.0.1', 7102, { routingKey: 'web' }));
  await fails(t, west, 'listener taken', 'listener.port', 'port-in-use', /nginx \(pid \d+\)/);

  await west.apply(listener('far', '192.0.2.1', 7103, { routingKey: 'web' }));
  await fails(t, west, 'listener far', 'listener.host', 'host-not-local', /192\.0\.2\.1/);

  await west.apply(listener('odd', '127.0.0.1', 99_999, { routingKey: 'web' }));
  await fails(t, west, 'listener odd', 'listener.spec', 'invalid-file', /input\/resources\/Listener-odd\.yaml:\d+.*spec\.port/);

  await west.kill9();
  const { code, explanation } = await explain(west, 'listener', 'web');
  assert.deepEqual([code, explanation.cause?.id, explanation.cause?.code], [6, 'listener.process', 'not-running']);
});

test('an explanation names what stops a link: the address, the port, the authority, the clock, the bundle, the revocation', async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
  const [westHost, eastHost] = [net.host('west'), net.host('east')];
  const east = await startSite(eastHost, { access: true, resources: [connector('web', '127.0.0.1', 80)] });
  const west = await startSite(westHost);
  await linkNamed('to-east', west, east);
  await startNginx(eastHost, { port: 8443 });
  await eastHost.run(['iptables', '-A', 'INPUT', '-p', 'tcp', '--dport', '8444', '-j', 'DROP']);

  const foreign = await issue(await createAuthority(`${westHost.dir}/foreign`), 'west', { hosts: ['west'] });
  await west.bundle('foreign', foreign);
  const link = (name: string, host: string, port: number) =>
    manifest('Link', name, { endpoints: [{ name: 'inter-router', host, port: String(port) }], tlsCredentials: 'foreign' });
  await west.apply(link('nowhere', 'nowhere.invalid', 55_671), link('closed', 'east', 8445), link('wall', 'east', 8444));
  await west.apply(link('page', 'east', 8443), link('foreign', 'east', 55_671));
  await fails(t, west, 'link nowhere', 'link.name', 'name-unknown', /cannot be resolved/);
  await fails(t, west, 'link closed', 'link.tcp', 'refused', /nothing is listening at east:8445/);
  await fails(t, west, 'link wall', 'link.tcp', 'timeout', /firewall/);
  await fails(t, west, 'link foreign', 'link.tls', 'tls-foreign-ca', /new token/);
  await fails(t, west, 'link page', 'link.tls', 'not-earshot', /does not speak TLS/);

  await west.kill9();
  const late = await startSite(westHost, { env: clock('+366d') });
  await fails(t, late, 'link to-east', 'link.bundle', 'tls-expired', /expired at .*the clock here is at/);
  await late.kill9();
  const early = await startSite(westHost, { env: clock('-366d') });
  await fails(t, early, 'link to-east', 'link.bundle', 'tls-not-yet-valid', /valid from .*Correct the wrong clock/);
  await early.kill9();

  const again = await startSite(westHost);
  await again.waitFor('Link', 'to-east');
  await east.earshot(['site', 'revoke', 'west']);
  await fails(t, again, 'link to-east', 'link.hello', 'revoked', /site unrevoke west/);
});
