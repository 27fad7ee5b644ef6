import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { createKey, createRequest } from '../../src/x509/request.ts';
import { encodeRedemption } from '../../src/trust/tokens/redemption.ts';
import { siteIdOf } from '../../src/identity/site-id.ts';
import { generateSiteKey } from '../../src/identity/site-key.ts';
import { createNetwork, eventually, manifest, startSite, type Host, type Outcome, type Site } from './harness/index.ts';

const ALLOWED = 10;
const REDEEMERS = 100;

interface Grant {
  readonly url: string;
  readonly code: string;
  readonly ca: string;
}

/** Status of an AccessGrant with the values of a token. */
async function grantOf(site: Site, name: string, spec: object): Promise<Grant> {
  await site.apply(manifest('AccessGrant', name, { ...spec }));
  const status = await site.waitFor('AccessGrant', name);
  // All three are there once it is ready.
  return { url: String(status['url']), code: String(status['code']), ca: String(status['ca']) };
}

/** A folder with the redemption of each of many sites, and a list of them for curl. */
async function prepare(dir: string, grant: string, { url, code, ca }: Grant): Promise<void> {
  await mkdir(dir);
  await writeFile(`${dir}/ca.crt`, ca);
  const requests: string[] = [];
  for (let index = 0; index < REDEEMERS; index += 1) {
    const { key } = generateSiteKey();
    const siteName = `site-${index}`;
    const wanted = { code, siteId: siteIdOf(key.publicKey), siteName, csr: createRequest(createKey(), siteName) };
    await writeFile(`${dir}/${index}.json`, encodeRedemption(grant, wanted, key));
    requests.push(
      [
        `url = "${url}"`,
        `data-binary = "@${dir}/${index}.json"`,
        'header = "content-type: application/json"',
        `cacert = "${dir}/ca.crt"`,
        `output = "${dir}/${index}.answer"`,
        `write-out = "${index} %{http_code}\\n"`,
        'max-time = 30',
        'silent',
      ].join('\n'),
    );
  }
  await writeFile(`${dir}/all.curl`, requests.join('\nnext\n'));
}

const redeemAll = (host: Host, dir: string): Promise<Outcome> =>
  host.attempt(['curl', '-sS', '-Z', '--parallel-immediate', '--parallel-max', String(REDEEMERS), '-K', `${dir}/all.curl`], {
    timeoutMs: 60_000,
  });

/** How often each answer came, by its status. */
function tally({ stdout }: Outcome): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const [, status = ''] of stdout.matchAll(/^\d+ (\d+)$/gm)) counts.set(status, (counts.get(status) ?? 0) + 1);
  return Object.fromEntries(counts);
}

/** The sites that got a certificate. */
async function certified(dir: string): Promise<readonly string[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.answer'));
  const answers = await Promise.all(names.map(async (name) => [name, await readFile(`${dir}/${name}`, 'utf8')] as const));
  return answers
    .filter(([, text]) => text.includes('BEGIN CERTIFICATE'))
    .map(([name]) => name)
    .sort();
}

const redeemedOf = async (site: Site, name: string): Promise<unknown> => (await site.status('AccessGrant', name))?.['redemptions'];

// Side by side: they wait more than they work.
describe('tokens', { concurrency: 3 }, () => {
  it('of a hundred sites that redeem at the same time, as many get in as the grant allows', async (t) => {
    await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
    const east = await startSite(net.host('east'), { access: true });
    const grant = await grantOf(east, 'many', { redemptionsAllowed: ALLOWED });
    const dir = `${net.host('west').dir}/race`;
    await prepare(dir, 'many', grant);
    assert.deepEqual(tally(await redeemAll(net.host('west'), dir)), { 200: ALLOWED, 410: REDEEMERS - ALLOWED });
    const winners = await certified(dir);
    assert.equal(winners.length, ALLOWED);
    const { message } = await east.waitFor('AccessGrant', 'many', ({ redemptions }) => redemptions === ALLOWED);
    assert.match(message ?? '', /all its redemptions are used up/);
    // A client whose answer was lost may ask for it again; no other client is admitted.
    assert.deepEqual(tally(await redeemAll(net.host('west'), dir)), { 200: ALLOWED, 410: REDEEMERS - ALLOWED });
    assert.deepEqual(await certified(dir), winners);
  });

  it('a site that is killed while a hundred redeem gives no more away than its grant allows, and no less', async (t) => {
    await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
    const east = await startSite(net.host('east'), { access: true });
    const grant = await grantOf(east, 'many', { redemptionsAllowed: ALLOWED });
    const dir = `${net.host('west').dir}/race`;
    await prepare(dir, 'many', grant);
    const first = redeemAll(net.host('west'), dir);
    // On disk, not in what the site says of itself: the kill is to come between.
    const file = `${east.layout.internal.grants}/many.json`;
    await eventually('the first redemptions', async () => /"redemptions": ?[1-9]/.test(await readFile(file, 'utf8')), { everyMs: 1 });
    await east.kill9();
    await first;
    const early = await certified(dir);
    await east.start();
    await east.waitFor('AccessGrant', 'many');
    await redeemAll(net.host('west'), dir);
    const all = await certified(dir);
    assert.deepEqual(
      early.filter((name) => !all.includes(name)),
      [],
      'who was in can ask again',
    );
    assert.equal(all.length, ALLOWED);
    await eventually('the count', async () => (await redeemedOf(east, 'many')) === ALLOWED);
  });

  it('a token that does not get in says why in its status, and what to do', async (t) => {
    await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
    const [east, west] = await Promise.all([startSite(net.host('east'), { access: true }), startSite(net.host('west'))]);
    const brief = await grantOf(east, 'brief', { expirationWindow: '1s' });
    const [good, used] = [await grantOf(east, 'good', {}), await grantOf(east, 'used', {})];
    await west.apply(manifest('AccessToken', 'first', { ...used }));
    await west.waitFor('AccessToken', 'first');
    const other = await startSite(net.host('west'), { name: 'other' });
    await east.waitFor('AccessGrant', 'brief', ({ message = '' }) => /it has expired/.test(message));
    const table: Readonly<Record<string, readonly [token: object, wanted: RegExp]>> = {
      expired: [brief, /refuses the token: grant brief expired at \d{4}-.*: ask for a new token/],
      'used-up': [used, /refuses the token: grant used is used up \(1 of 1 redemptions\): ask for a new token/],
      'cut-code': [{ ...good, code: good.code.slice(0, -3) }, /the code does not match grant good: the token was edited/],
      'cut-authority': [{ ...good, ca: good.ca.slice(0, 120) }, /is not a valid token: .*Copy the complete token again/],
      'other-grant': [{ ...good, url: good.url.replace('/good', '/gone') }, /grant gone does not exist: it was deleted/],
      'other-port': [{ ...good, url: good.url.replace(/:\d+\//, ':9/') }, /is unreachable: connection refused.*retried/],
      'no-url': [{ ...good, url: 'east' }, /spec\.url must be a URL/],
    };
    for (const [name, [token]] of Object.entries(table)) await other.apply(manifest('AccessToken', name, { ...token }));
    for (const [name, [, wanted]] of Object.entries(table)) {
      // An unreachable site is reported only after half a minute of trying.
      const status = await other.waitFor('AccessToken', name, 'Error', { timeoutMs: 90_000 });
      assert.match(status.message ?? '', wanted, name);
      assert.equal(status['redeemed'] ?? false, false, name);
      // A message must not contain a code.
      assert.ok(!(status.message ?? '').includes(good.code.slice(0, 10)), name);
    }
  });
});
