import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import type { AccessConfig, TlsBundle } from '../../../../src/router/contract.ts';
import type { CertificateOrder } from '../../../../src/trust/contract.ts';
import { issueBundle } from '../../../../src/trust/issue.ts';
import { makeAuthority } from '../../trust/support/site.ts';
import { standardClient } from '../support/standard-client.ts';
import { access, accessPort, connector, echoServer, link, siteConfig, start, until } from '../support/site.ts';

const authority = makeAuthority();
const bundle = (order: Partial<CertificateOrder> = {}): TlsBundle =>
  issueBundle(authority, 'bundle', { subject: 'my-app', client: true, ...order });
const server = (order: Partial<CertificateOrder> = {}): TlsBundle => bundle({ server: true, hosts: ['127.0.0.1'], ...order });

/** The status that a CONNECT gets there. */
async function reach(tls: TlsBundle, more: Partial<AccessConfig> = {}): Promise<number> {
  await using echo = await echoServer();
  const config = { ...siteConfig('west'), accesses: [access(server(), more)], connectors: [connector('backend', echo.port)] };
  await using west = await start(config);
  using client = await standardClient(await accessPort(west), tls);
  const stream = client.session.request({ ':method': 'CONNECT', ':authority': 'backend' }, { endStream: false });
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  return Number(headers[':status']);
}

/** All that is said before the connection is closed. */
async function refusal({ cert = '', key = '', ca = '' }: TlsBundle, more: Partial<AccessConfig> = {}): Promise<string> {
  await using west = await start({ ...siteConfig('west'), accesses: [access(server(), more)] });
  const socket = connect({ host: '127.0.0.1', port: await accessPort(west), cert, key, ca, ALPNProtocols: ['h2'] });
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('latin1');
}

test('a certificate for applications reaches no key, and receives the reason', async () => {
  assert.match(await refusal(bundle({ purpose: 'application' })), /tls-wrong-purpose: This certificate is for applications, not for links/);
});

test('one for the API of routers opens no link, reaches no key, and poses as no access', async () => {
  for (const purpose of ['api', 'api-control'] as const)
    assert.match(await refusal(bundle({ purpose })), /tls-wrong-purpose: This certificate is for the router API/);
  await using west = await start({ ...siteConfig('west'), accesses: [access(server({ purpose: 'api' }))] });
  await using east = await start({ ...siteConfig('east'), links: [link('peer', await accessPort(west), bundle({ purpose: 'link' }))] });
  await until(east, 'the problem', (state) => state.links.peer?.problem?.code === 'tls-wrong-purpose');
});

test("a link's certificate reaches keys, and so does one without a mark", async () => {
  assert.deepEqual([await reach(bundle({ purpose: 'link' })), await reach(bundle())], [200, 200]);
});

test('one without a mark is refused where only marked ones are let in', async () => {
  assert.equal(await reach(bundle({ purpose: 'link' }), { unmarked: 'refused' }), 200);
  assert.match(
    await refusal(bundle(), { unmarked: 'refused' }),
    /tls-wrong-purpose: This access accepts only certificates that are marked/,
  );
});

test('a server with a certificate for applications is not accepted as an access', async () => {
  await using west = await start({ ...siteConfig('west'), accesses: [access(server({ purpose: 'application' }))] });
  await using east = await start({ ...siteConfig('east'), links: [link('peer', await accessPort(west), bundle({ purpose: 'link' }))] });
  await until(east, 'the problem', (state) => state.links.peer?.problem !== undefined);
  assert.equal(east.state.links.peer?.problem?.code, 'tls-wrong-purpose');
});
