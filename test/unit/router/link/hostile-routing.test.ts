import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouterConfig } from '../../../../src/router/contract.ts';
import { openBundle } from '../../../../src/router/link/bundle.ts';
import { openLink, type OpenedLink } from '../../../../src/router/link/dial/outgoing.ts';
import { dialTls } from '../../../../src/router/link/dial/tls-dial.ts';
import { createRouting } from '../../../../src/routing/routing.ts';
import { testAuthority } from '../support/certificates.ts';
import { linkHost } from '../support/link-host.ts';
import { siteConfig, until } from '../support/site.ts';
import { pair } from '../support/networks.ts';

const authority = await testAuthority();

/** A peer that does all that a link needs, and then says on its routing stream what it likes. */
async function liar(config: RouterConfig, port: number, id: string): Promise<OpenedLink & Disposable> {
  const host = linkHost(config);
  const bundle = openBundle(await authority.issue(), 'client');
  const { signal } = new AbortController();
  const opened = await openLink({
    host,
    peer: 'the victim',
    cost: 1,
    id,
    signal,
    dial: (protocol, deadline) => dialTls({ endpoint: { host: '127.0.0.1', port }, bundle, protocol, deadline, signal }),
  });
  return {
    link: opened.link,
    peers: [],
    silent: false,
    request: (head, handler) => opened.request(head, handler),
    [Symbol.dispose]: () => {
      opened.link.cut(new Error('the test is over'));
      host[Symbol.dispose]();
    },
  };
}

/** The record of another site's router without its key: one byte changed. */
function forgedRecords(): readonly Buffer[] {
  const { site, siteKey } = siteConfig('victim');
  const victim = createRouting({ router: 'main', site, siteKey });
  const neighbour = siteConfig('neighbour');
  victim.setFacts({ edge: false, keys: [{ routingKey: 'key', connectors: 1, listeners: 0 }] }, Date.now());
  const adjacency = { router: `${neighbour.site.id}/main`, site: neighbour.site, link: 'x'.repeat(16), cost: 1 };
  const sent = victim.adjacencyUp(adjacency, Date.now()).map(({ message }) => Buffer.from(message));
  for (const message of sent) message.writeUInt8(message.readUInt8(message.length - 70) ^ 1, message.length - 70);
  return sent.filter((message) => message.readUInt8(0) === 4);
}

const lies: readonly { readonly what: string; readonly messages: () => readonly Buffer[] }[] = [
  { what: "a record with a signature that is not its site's", messages: forgedRecords },
  { what: 'a record that is cut short', messages: () => [Buffer.from([4, 0, 0, 0, 200, 1, 2, 3])] },
  { what: 'an impossible cost', messages: () => [Buffer.concat([Buffer.from([0xf1]), Buffer.from('{"cost":0}')])] },
  { what: 'a cost that is no JSON', messages: () => [Buffer.concat([Buffer.from([0xf1]), Buffer.from('{')])] },
];

for (const [at, { what, messages }] of lies.entries()) {
  test(`a peer that sends ${what} is cut off, and no other peer`, async () => {
    await using net = await pair(authority);
    const said = messages();
    assert.ok(said.length > 0);
    using peer = await liar(siteConfig('liar'), net.access, `liar${at}`.padEnd(16, '0'));
    await until(net.server, 'the liar', (state) => state.incoming.length === 2);
    for (const message of said) peer.link.routing.send(message);
    await until(net.server, 'the liar is gone', (state) => state.incoming.length === 1);
    assert.equal(net.server.state.incoming[0]?.siteName, 'client');
    await net.service();
  });
}

test('unknown messages of a newer peer are skipped', async () => {
  await using net = await pair(authority);
  using peer = await liar(siteConfig('newer'), net.access, 'newer'.padEnd(16, '0'));
  for (const type of [0x7f, 0xef, 0xf7, 0xff]) peer.link.routing.send(Buffer.from([type, 1, 2, 3]));
  peer.link.routing.send(Buffer.concat([Buffer.from([0xf1]), Buffer.from('{"cost":7,"colour":"blue"}')]));
  await until(net.server, 'the new cost', (state) => state.network[0]?.links.some(({ cost }) => cost === 7) === true);
  await net.service();
});

test('a link cannot use an ID of another open link', async () => {
  await using net = await pair(authority);
  using first = await liar(siteConfig('first'), net.access, 'same'.padEnd(16, '0'));
  await assert.rejects(liar(siteConfig('second'), net.access, first.link.id), { code: 'protocol', message: /ID of the link is in use/ });
  assert.equal(first.link.state, 'up');
  await net.service();
});
