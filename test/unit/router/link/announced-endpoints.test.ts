import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Router, RouterConfig, SiteEndpoint } from '../../../../src/router/contract.ts';
import { LinkTarget } from '../../../../src/router/link/dial/link-target.ts';
import { LinkError } from '../../../../src/router/link/link-errors.ts';
import { MOST_ENDPOINTS, readEndpoints, writeEndpoints } from '../../../../src/router/link/session/announced-endpoints.ts';
import { freePort } from '../../support/free-port.ts';
import { testAuthority } from '../support/certificates.ts';
import { access, accessPort, link, siteConfig, start, until } from '../support/site.ts';

const authority = await testAuthority();
const tls = await authority.issue();

const at = (port: number, more: Partial<SiteEndpoint> = {}): SiteEndpoint => ({ host: '127.0.0.1', port, role: 'inter-router', ...more });
const message = (value: unknown): Buffer => Buffer.concat([Buffer.from([0xf3]), Buffer.from(JSON.stringify(value))]);
const up = (router: Router, port: number): Promise<void> =>
  until(router, `a link at ${port}`, ({ links }) => links.server?.operational === true && links.server.endpoint === `127.0.0.1:${port}`);
const announced = (router: Router, ...ports: readonly number[]): Promise<void> =>
  until(router, `the endpoints ${ports.join()}`, ({ links }) => links.server?.announced?.map(({ port }) => port).join() === ports.join());

/** A server that is reached at two ports and says so of both, and a client that was given the first alone. */
async function linked(
  more: Partial<RouterConfig> = {},
): Promise<{
  readonly config: RouterConfig;
  readonly server: Router;
  readonly client: Router;
  readonly clientConfig: RouterConfig;
  readonly first: number;
  readonly second: number;
}> {
  const second = await freePort();
  const config = { ...siteConfig('server'), accesses: [access(tls), access(tls, { name: 'second', port: second })] };
  const server = await start(config);
  const first = await accessPort(server);
  const clientConfig = { ...siteConfig('client'), links: [link('server', first, tls)], ...more };
  return { config, server, client: await start(clientConfig), clientConfig, first, second };
}

test('a link follows where its site says that it is reached, and comes back to where it began', async () => {
  const { config, server, client, clientConfig, first, second } = await linked();
  await using _server = server;
  await using _client = client;
  await up(client, first);
  assert.equal(client.state.links.server?.announced, undefined);
  server.apply({ ...config, reachedAt: [at(second), at(1, { role: 'edge' })] });
  await announced(client, second);
  await up(client, first);
  server.apply({ ...config, accesses: config.accesses.slice(1), reachedAt: [at(second)] });
  await up(client, second);
  // A renewed certificate recreates the link, and its endpoints are still known.
  client.apply({ ...clientConfig, links: [link('server', first, await authority.issue())] });
  await up(client, second);
  await announced(client, second);
  const [own] = [access(tls, { port: first })];
  server.apply({ ...config, accesses: [own], reachedAt: [at(second)] });
  await up(client, first);
});

test('a link with new endpoints forgets those announced at the old ones', async () => {
  const { config, server, client, clientConfig, first, second } = await linked();
  await using _server = server;
  await using _client = client;
  server.apply({ ...config, reachedAt: [at(second)] });
  await announced(client, second);
  const third = await freePort();
  client.apply({ ...clientConfig, links: [link('server', third, tls)] });
  await until(client, 'nothing to be known', ({ links }) => links.server?.announced === undefined);
  await until(
    client,
    'an attempt at the announced endpoint',
    ({ links }) => links.server?.problem?.message.includes(String(third)) === true,
  );
  assert.ok(first > 0);
});

test('links to one site by different roles each receive their own endpoints', async () => {
  const config = { ...siteConfig('server'), accesses: [access(tls), access(tls, { name: 'edge', role: 'edge' })] };
  await using server = await start({ ...config, reachedAt: [at(11), at(12, { role: 'edge' })] });
  const [plain, edge] = [await accessPort(server), await accessPort(server, 'edge')];
  await using client = await start({ ...siteConfig('client'), edge: true, links: [link('plain', plain, tls), link('edge', edge, tls)] });
  const each = (ofPlain: number, ofEdge: number): Promise<void> =>
    until(client, `${ofPlain} and ${ofEdge}`, ({ links }) => {
      const ports = [links.plain, links.edge].map((state) => state?.announced?.map(({ port }) => port).join());
      return links.plain?.operational === true && links.edge?.operational === true && ports.join(' ') === `${ofPlain} ${ofEdge}`;
    });
  await each(11, 12);
  // A change for one role does not affect the other.
  server.apply({ ...config, reachedAt: [at(21), at(12, { role: 'edge' })] });
  await each(21, 12);
  server.apply({ ...config, reachedAt: [at(21), at(22, { role: 'edge' })] });
  await each(21, 22);
});

test('a link first dials the endpoints that an earlier process cached, and refuses another site there', async () => {
  const { server, client, clientConfig, second } = await linked();
  await using _server = server;
  await client[Symbol.asyncDispose]();
  const [{ host, port }, gone] = [at(second), await freePort()];
  const remembering = (site: string): RouterConfig => ({
    ...clientConfig,
    links: [link('server', gone, tls, { remembered: { site, endpoints: [{ host, port }] } })],
  });
  const { id } = server.state.network[0]?.site ?? { id: '' };
  await using again = await start(remembering(id));
  assert.deepEqual([again.state.links.server?.remoteSiteId, again.state.links.server?.announced], [id, [{ host, port }]]);
  await up(again, second);
  await using fooled = await start({ ...siteConfig('third'), links: remembering(siteConfig('other').site.id).links });
  await until(fooled, 'a refusal', ({ links }) => links.server?.problem?.code === 'wrong-site');
});

test('a site cannot announce endpoints of another, even with a certificate of the same authority', async () => {
  const { config, server, client, first } = await linked();
  await using _server = server;
  await using _client = client;
  await using other = await start({ ...siteConfig('other'), accesses: [access(tls)] });
  const elsewhere = await accessPort(other);
  server.apply({ ...config, reachedAt: [at(elsewhere)] });
  await announced(client, elsewhere);
  server.apply({ ...config, accesses: [], reachedAt: [at(elsewhere)] });
  await until(client, 'a refusal', ({ links }) => links.server?.problem?.code === 'wrong-site');
  assert.equal(other.state.incoming.length, 0);
  server.apply({ ...config, accesses: [access(tls, { port: first })], reachedAt: [at(elsewhere)] });
  await up(client, first);
});

test('given endpoints that are still valid are tried first, then others that the site announces, then the rest', () => {
  const endpoints = [at(1), at(2)].map(({ host, port }) => ({ host, port }));
  const learned = { site: 'some', endpoints: [at(3, { group: 'a' }), at(2, { group: 'a' }), at(4, { group: 'b' })] };
  const order = (group?: string): readonly string[] =>
    new LinkTarget({ name: 'link', cost: 1, tls, endpoints, ...(group === undefined ? {} : { group }) })
      .endpoints(learned)
      .map(({ peer, site }) => `${peer.split(':')[1]}${site === undefined ? '' : ` of ${site}`}`);
  assert.deepEqual(order('a'), ['2', '3 of some', '1']);
  assert.deepEqual(order('b'), ['4 of some', '1', '2']);
  assert.deepEqual(order('gone'), ['2', '3 of some', '4 of some', '1']);
  assert.deepEqual(order(), ['2', '3 of some', '4 of some', '1']);
});

test('an announcement of endpoints is read as far as it is valid', () => {
  const good = [
    { host: 'west.example', port: 55_671, group: 'one' },
    { host: '2001:db8::1', port: 1 },
  ];
  assert.deepEqual(readEndpoints(writeEndpoints(good)), good);
  const bad = [null, 7, 'x', {}, { host: 'a b', port: 1 }, { host: 'a', port: 0 }, { host: 'a', port: '1' }, { host: 'a\n', port: 1 }];
  assert.deepEqual(readEndpoints(message({ endpoints: [...bad, { host: 'a', port: 65_535, group: 'x\ny', more: 1 }] })), [
    { host: 'a', port: 65_535 },
  ]);
  const many = Array.from({ length: 1_000 }, (_, index) => ({ host: 'a', port: index + 1 }));
  assert.equal(readEndpoints(message({ endpoints: many })).length, MOST_ENDPOINTS);
  for (const value of [null, [], 'x', {}, { endpoints: {} }]) assert.throws(() => readEndpoints(message(value)), LinkError);
  assert.throws(() => readEndpoints(Buffer.from([0xf3, 0x7b])), LinkError);
});
