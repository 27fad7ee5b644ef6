import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LinkState, Router, RouterConfig, SiblingLinkState } from '../../../src/router/contract.ts';
import { LinkError } from '../../../src/router/link/link-errors.ts';
import type { Link } from '../../../src/router/link/link.ts';
import { readSiblingLink, siblingLinkFormat } from '../../../src/router/link/sibling-links.ts';
import { MOST_SIBLING_REPORTS, SiblingReports } from '../../../src/router/link/sibling-reports.ts';
import { freePort } from '../support/free-port.ts';
import { testAuthority } from './support/certificates.ts';
import { access, accessPort, link, siteConfig, start, until } from './support/site.ts';

/** A link to a router, which keeps what is sent over it. */
function linkTo(router: string, site = 'own'): { readonly link: Link; readonly sent: Buffer[] } {
  const sent: Buffer[] = [];
  const to = { peer: { router, site: { id: site } }, routing: { send: (one: Buffer) => void sent.push(one) } };
  // All of a link that is looked at.
  return { link: to as unknown as Link, sent };
}

const up: LinkState = { operational: true, remoteSiteId: 'e', remoteSiteName: 'east', endpoint: 'east:55671' };
const lost: LinkState = { operational: false, problem: { code: 'lost', message: 'It ended.\nHere.' } };
const texts = (sent: readonly Buffer[]): readonly unknown[] => sent.map((one) => JSON.parse(one.subarray(1).toString()));

test('routers of a site report each link once for each change, only to each other', () => {
  const links = new SiblingReports('own', siblingLinkFormat);
  const [two, east] = [linkTo('two'), linkTo('two', 'east')];
  for (const { link: one } of [two, east]) links.up(one);
  let own: Readonly<Record<string, LinkState>> = { 'Link/a': up, 'Link/b': { operational: false } };
  const tell = (): readonly unknown[] => {
    links.report(() => own);
    return texts(two.sent.splice(0));
  };
  const a = { link: 'Link/a', operational: true, remoteSiteId: 'e', remoteSiteName: 'east' };
  assert.deepEqual([tell(), tell()], [[a], []]);
  own = { 'Link/a': lost, 'Link/b': { operational: false } };
  assert.deepEqual([tell(), tell()], [[{ link: 'Link/a', operational: false, problem: 'It ended. Here.' }], []]);
  own = {};
  assert.deepEqual([tell(), tell()], [[{ link: 'Link/a' }], []]);
  assert.deepEqual(east.sent, []);
});

test('reports of a router are kept as long as there is a link to it', () => {
  const links = new SiblingReports('own', siblingLinkFormat);
  const heard = (): typeof links.received => links.received;
  assert.equal(heard(), undefined);
  const [{ link: two }, { link: east }] = [linkTo('two'), linkTo('main', 'east')];
  for (const one of [two, east]) links.up(one);
  const say = (from: Link, said: object): boolean => links.receive(from, message(said));
  assert.deepEqual([say(two, { link: 'Link/a', operational: true }), say(east, { link: 'Link/a', operational: true })], [true, false]);
  assert.deepEqual(heard(), { two: { 'Link/a': { operational: true } } });
  assert.deepEqual([say(two, { link: 'Link/a' }), say(two, { link: 'Link/a' })], [true, false]);
  for (let count = 0; count <= MOST_SIBLING_REPORTS; count += 1) say(two, { link: `Link/${count}`, operational: false });
  assert.equal(Object.keys(heard()?.two ?? {}).length, MOST_SIBLING_REPORTS);
  links.down(two);
  assert.equal(heard(), undefined);
});

test('a report of a link is read as far as it is valid', () => {
  const read = (said: unknown): SiblingLinkState | undefined => readSiblingLink(message(said)).state;
  const odd = { remoteSiteId: 7, remoteSiteName: 'x\ny', problem: `\u202e${'x'.repeat(900)}`, more: 1 };
  const { problem = '', ...rest } = read({ link: 'Link/a', operational: false, ...odd }) ?? { operational: true };
  assert.deepEqual([rest, problem.length, problem.slice(0, 8)], [{ operational: false }, 300, '\\u{202e}']);
  assert.equal(read({ link: '__proto__', operational: 'yes' }), undefined);
  for (const said of [null, 7, 'x', [], {}, { link: '' }, { link: 'a\nb' }, { link: 'x'.repeat(301) }, { link: 7 }]) {
    assert.throws(() => readSiblingLink(message(said)), LinkError);
  }
  assert.throws(() => readSiblingLink(Buffer.from([0xf4, 0x7b])), LinkError);
});

test('each router of a site knows which links the other has, and forgets it with the other', async () => {
  const local = await testAuthority('local CA');
  const authority = await testAuthority();
  const [bundle, tls] = [await local.issue({ hosts: ['skupper-router-local'] }), await authority.issue()];
  await using east = await start({ ...siteConfig('east'), accesses: [access(tls)] });
  const port = await accessPort(east);
  const ports = { one: await freePort(), two: await freePort() };
  const site = siteConfig('west');
  const west = (router: keyof typeof ports, other: keyof typeof ports, to: number): Promise<Router> => {
    const others = [{ router: other, host: '127.0.0.1', port: ports[other] }];
    const config: RouterConfig = { ...site, router, siblings: { kind: 'tls', port: ports[router], tls: bundle, others } };
    return start({ ...config, links: [link('Link/east', to, tls)] });
  };
  const closed = await freePort();
  await using one = await west('one', 'two', closed);
  const two = await west('two', 'one', port);
  const heard = (router: Router, of: string): SiblingLinkState | undefined => router.state.siblingLinks?.[of]?.['Link/east'];
  await until(one, 'the link of the other', () => heard(one, 'two')?.operational === true);
  assert.equal(heard(one, 'two')?.remoteSiteName, 'east');
  await until(two, 'what is in the way of the other', () => heard(two, 'one')?.problem?.includes(String(closed)) === true);
  await two[Symbol.asyncDispose]();
  await until(one, 'nothing to be known', ({ siblingLinks }) => siblingLinks === undefined);
});

function message(value: unknown): Buffer {
  return Buffer.concat([Buffer.from([0xf4]), Buffer.from(JSON.stringify(value))]);
}
