import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { createNetwork, manifest, startSite, type Host, type Site } from './harness/index.ts';

const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';

/** A clock that is wrong, for one program. */
async function clock(offset: string): Promise<Readonly<Record<string, string>>> {
  await stat(FAKETIME);
  return { LD_PRELOAD: FAKETIME, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}

/** Starts a stopped site again, with another clock. */
async function withClock(site: Site, host: Host, offset: string, access = false): Promise<Site> {
  await site.kill9();
  return startSite(host, { name: site.name, access, env: await clock(offset) });
}

const yearOf = (offset: number): number => new Date(Date.now() + offset * 366 * 86_400_000).getUTCFullYear();
const [THEN, LATER, EARLIER] = [yearOf(0), yearOf(1), yearOf(-1)];
/** When the certificate of a link ends that is issued now. */
const END = new Date(Date.now() + 30 * 86_400_000).getUTCFullYear();

// Side by side: they wait more than they work.
describe('a site whose clock is a year off', { concurrency: 2 }, () => {
  it("says of its own certificate, or of the peer's, which one it does not believe, and both times", async (t) => {
    await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
    const [westHost, eastHost] = [net.host('west'), net.host('east')];
    const [east, right] = await Promise.all([startSite(eastHost, { access: true }), startSite(westHost)]);
    await east.earshot(['token', 'issue', `${westHost.dir}/token.yaml`]);
    await right.earshot(['token', 'redeem', `${westHost.dir}/token.yaml`, '--name', 'east']);
    const trouble = (site: Site, words: RegExp): Promise<string> =>
      site
        .waitFor('Link', 'east', ({ status, message = '' }) => status === 'Error' && words.test(message))
        .then(({ message = '' }) => message);

    const ahead = await withClock(right, westHost, '+366d');
    const late = await trouble(ahead, /expired at/);
    assert.match(late, new RegExp(`^The TLS bundle east: .*expired at ${END}-.*the clock here is at ${LATER}-.*set the clock`, 's'));

    const behind = await withClock(ahead, westHost, '-366d');
    const early = await trouble(behind, /valid from/);
    assert.match(early, new RegExp(`valid from ${THEN}-.*by the clock of its issuer.* the clock here is at ${EARLIER}-`, 's'));

    // The other side is the one that is off: its own certificates are issued again, by its clock.
    await behind.kill9();
    const [future, west] = await Promise.all([withClock(east, eastHost, '+366d', true), startSite(westHost)]);
    const said = await trouble(west, /valid from|expired at/);
    const words = `(valid from ${LATER}-.*the clock here is at ${THEN}-)|(expired at ${END}-.*the clock here is at ${LATER}-)`;
    assert.match(said, new RegExp(words, 's'));
    assert.match(said, /certificate/);

    await future.kill9();
    await startSite(eastHost, { access: true });
    await west.waitFor('Link', 'east');
  });

  for (const [offset, year] of [
    ['+366d', LATER],
    ['-366d', EARLIER],
  ] as const) {
    it(`says so when it redeems a token (${offset}), and gets in as soon as the clock is right`, async (t) => {
      await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
      const [westHost, eastHost] = [net.host('west'), net.host('east')];
      const [east, wrong] = await Promise.all([startSite(eastHost, { access: true }), startSite(westHost, { env: await clock(offset) })]);
      await east.apply(manifest('AccessGrant', 'west', {}));
      const { url, code, ca } = await east.waitFor('AccessGrant', 'west');
      await wrong.apply(manifest('AccessToken', 'east', { url, code, ca }));
      // The peer's certificate is requested separately, and reported if it arrived in time.
      const { message } = await wrong.waitFor(
        'AccessToken',
        'east',
        ({ status, message: words = '' }) => status === 'Error' && /it is valid from/.test(words),
      );
      assert.match(message ?? '', new RegExp(`the clock of this machine, ${year}-`));
      assert.match(message ?? '', new RegExp(`it is valid from ${THEN}-\\S+ to ${THEN}-|it is valid from ${THEN}-\\S+ to ${THEN + 1}-`));
      assert.match(message ?? '', /correct the wrong one/);
      await wrong.kill9();
      const west = await startSite(westHost);
      await west.waitFor('AccessToken', 'east');
      await west.waitFor('Link', 'east');
    });
  }
});
