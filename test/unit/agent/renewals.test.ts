import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { issueBundle, issueCertificate } from '../../../src/trust/issue.ts';
import { makeAuthority } from '../trust/support/site.ts';
import { readBundle, writeBundle } from '../../../src/trust/disk/bundle-files.ts';
import type { Authority } from '../../../src/trust/contract.ts';
import type { NamespaceLayout } from '../../../src/platform/linux/layout.ts';
import { DirectoryBundles } from '../../../src/trust/disk/bundles.ts';
import { openStores } from '../../../src/platform/linux/stores.ts';
import { RenewalRequestFiles } from '../../../src/platform/linux/renewal-requests.ts';
import { Renewals, type RenewingRouter } from '../../../src/agent/renewals.ts';
import type { LinkConfig } from '../../../src/router/contract.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import type { RenewalAnswer } from '../../../src/agent/ports.ts';
import { MemoryBundles, MemoryPendingKeys } from '../trust/support/memory-stores.ts';
import { EarlyRenewalError, type IssuedCertificate } from '../../../src/identity/issued.ts';
import { aNamespace, until } from '../platform/support.ts';

const DAY = 86_400_000;

interface Linked {
  readonly layout: NamespaceLayout;
  readonly authority: Authority;
  readonly link: LinkConfig;
  /** Scans once, with the link up by default, and waits until started renewals have ended. @returns how many renewals that were */
  look(options?: {
    readonly up?: boolean;
    readonly ours?: boolean;
    readonly links?: readonly LinkConfig[];
    readonly refusal?: string;
    /** A wrong answer of the other site to a request. */
    readonly answer?: (csr: string) => IssuedCertificate;
  }): Promise<number>;
  readonly requests: RenewalRequestFiles;
  /** Serial number of the bundle on disk. */
  serial(): Promise<string>;
}

/**
 * The next scan, half a second later, reports that a renewal is due. Code that counts reports would take that for
 * the end of a renewal.
 * @returns waits without a timer
 */
function withoutTimers(t: TestContext): (holds: () => boolean) => Promise<void> {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  return async (holds) => {
    while (!holds()) await nextTurn();
  };
}

function renewalsIn(layout: NamespaceLayout, onChange: () => void, clock = Date.now): Renewals {
  const stores = openStores(layout, new DirectoryBundles(layout.internal.certs));
  const log = createLogger({ level: 'silent', component: 'test' });
  return new Renewals({ stores, bundleLocation: (name) => `input/certs/${name}/`, log, onChange, clock });
}

/** A namespace with a link whose certificate has 30 days to go, and another site that renews what it is asked. */
async function linked(t: TestContext): Promise<Linked> {
  const layout = await aNamespace(t);
  const authority = makeAuthority({ name: 'east', clock: () => Date.now() - 30 * DAY });
  const bundle = issueBundle(authority, 'to-east', { subject: 'west', client: true });
  await writeBundle(join(layout.internal.certs, 'to-east'), bundle);
  const link: LinkConfig = { name: 'Link/to-east', endpoints: [], cost: 1, tls: bundle };
  let ended = 0;
  const renewals = renewalsIn(layout, () => void (ended += 1));
  return {
    layout,
    authority,
    link,
    requests: new RenewalRequestFiles(layout),
    serial: async () => new X509Certificate((await readBundle(join(layout.internal.certs, 'to-east'), 'to-east')).cert ?? '').serialNumber,
    look: async ({ up = true, ours = true, links = [link], refusal, answer } = {}) => {
      const router: RenewingRouter = {
        state: { listeners: {}, connectors: {}, accesses: {}, incoming: [], network: [], links: { 'Link/to-east': { operational: up } } },
        renew: async (_name, csr) => {
          if (refusal !== undefined) throw new Error(refusal);
          if (answer !== undefined) return answer(csr);
          return issueCertificate(authority, { subject: 'west', client: true, csr });
        },
      };
      const before = ended;
      const { length } = await renewals.check(links, router, () => ours);
      await until(() => ended - before === length, 'the renewals have ended');
      return length;
    },
  };
}

describe('a renewal that was asked for', () => {
  it('replaces a certificate far from its expiry once, and reports both serial numbers', async (t) => {
    const west = await linked(t);
    assert.equal(await west.look(), 0, 'nothing is due by itself');
    const before = await west.serial();
    await west.requests.ask('to-east');
    assert.equal(await west.look(), 1);
    const answer = await west.requests.answerTo('to-east');
    assert.ok(answer !== undefined && 'serial' in answer, JSON.stringify(answer));
    assert.deepEqual([answer.before, answer.serial], [before, await west.serial()]);
    assert.notEqual(answer.serial, before);
    assert.ok(Math.abs(Date.parse(answer.until) - Date.now() - 30 * 86_400_000) < 3_600_000, answer.until);
    assert.equal(await west.look(), 0, 'what has its answer is not asked again');
  });

  it('waits while the link is down', async (t) => {
    const west = await linked(t);
    await west.requests.ask('to-east');
    assert.equal(await west.look({ up: false }), 0);
    assert.equal(await west.requests.answerTo('to-east'), undefined);
    assert.equal(await west.look(), 1);
  });

  it('reports the reason of the site that refuses, and changes nothing', async (t) => {
    const west = await linked(t);
    const before = await west.serial();
    await west.requests.ask('to-east');
    await west.look({ refusal: 'site west is revoked' });
    assert.deepEqual(await west.requests.answerTo('to-east'), { refused: 'site west is revoked' });
    assert.equal(await west.serial(), before);
    assert.equal(await west.look(), 0, 'a refusal ends the request');
  });

  it('keeps what it has where the other site gives what is of no use, or an authority', async (t) => {
    const west = await linked(t);
    const before = await west.serial();
    const order = { subject: 'west', client: true };
    const wrong: readonly [(csr: string) => IssuedCertificate, RegExp][] = [
      [(csr) => issueCertificate(west.authority, { ...order, signing: true, csr }), /certificate authority/],
      [(csr) => issueCertificate(west.authority, { subject: 'west', server: true, csr }), /not for a TLS client/],
      [(csr) => issueCertificate(west.authority, { ...order, csr }, () => Date.now() + DAY), /valid from/],
      [(csr) => ({ ...issueCertificate(west.authority, { ...order, csr }), ca: '' }), /ca\.crt/],
      [() => issueBundle(west.authority, 'other', order), /not the key/],
    ];
    for (const [answer, words] of wrong) {
      await west.requests.ask('to-east');
      assert.equal(await west.look({ answer }), 1);
      const told = await west.requests.answerTo('to-east');
      assert.ok(told !== undefined && 'refused' in told, JSON.stringify(told));
      assert.match(told.refused, words);
      assert.equal(await west.serial(), before);
      await west.requests.drop('to-east');
    }
  });

  it("does not touch a person's own certificate, and says where it is", async (t) => {
    const west = await linked(t);
    await west.requests.ask('to-east');
    assert.equal(await west.look({ ours: false }), 0);
    assert.deepEqual(await west.requests.answerTo('to-east'), {
      refused: 'its certificate is your own: put a new one into input/certs/to-east/',
    });
  });

  it('is refused for a link that is not in use', async (t) => {
    const west = await linked(t);
    await west.requests.ask('to-east');
    assert.equal(await west.look({ links: [] }), 0);
    assert.deepEqual(await west.requests.answerTo('to-east'), { refused: 'the link is not in use: see its status' });
  });
});

describe('a renewal that temporarily cannot be written', () => {
  const log = createLogger({ level: 'silent', component: 'test' });

  /** Two links that are up, in memory, with a certificate of 30 days each. */
  function twoLinks(days = 30, issued = Date.now()) {
    const authority = makeAuthority({ clock: () => issued });
    const questions = { open: new Set<string>(), answers: [] as [string, RenewalAnswer][], isFull: true, whenRead: Promise.resolve() };
    const stores = {
      bundles: new MemoryBundles(),
      pendingKeys: new MemoryPendingKeys(),
      renewalRequests: {
        open: async () => {
          const open = new Set(questions.open);
          await questions.whenRead;
          return open;
        },
        answer: async (link: string, answer: RenewalAnswer) => {
          if (questions.isFull) throw new Error('no space left on device');
          questions.answers.push([link, answer]);
          questions.open.delete(link);
        },
      },
    };
    let [ended, asked] = [0, 0];
    const renewals = new Renewals({ stores, bundleLocation: (name) => name, log, onChange: () => void (ended += 1), clock: Date.now });
    const links = ['one', 'two'].map((name): LinkConfig => {
      const tls = issueBundle(authority, `to-${name}`, { subject: 'west', client: true, days }, () => issued);
      return { name: `Link/${name}`, endpoints: [], cost: 1, tls };
    });
    const up = { 'Link/one': { operational: true }, 'Link/two': { operational: true } };
    const router: RenewingRouter = {
      state: { listeners: {}, connectors: {}, accesses: {}, incoming: [], network: [], links: up },
      renew: async (_, csr) => {
        asked += 1;
        return issueCertificate(authority, { subject: 'west', client: true, csr });
      },
    };
    const look = async (through = router): Promise<number> => {
      const before = ended;
      const there = links.map(async (link) => ({ ...link, tls: (await stores.bundles.get(link.tls.name)) ?? link.tls }));
      const { length } = await renewals.check(await Promise.all(there), through, () => true);
      await until(() => ended - before === length, 'the renewals have ended');
      return asked;
    };
    return { questions, look, renewals, links, router, bundles: stores.bundles };
  }

  it('is not asked for again where what came cannot be written: that is written once it can', async (t) => {
    const { questions, look, bundles } = twoLinks();
    questions.isFull = false;
    const put = t.mock.method(bundles, 'put', () => Promise.reject(new Error('no space left on device')));
    const ask = async (): Promise<number> => {
      questions.open.add('one');
      return look();
    };
    assert.deepEqual([await ask(), await ask(), await ask()], [1, 1, 1], 'its site is asked once');
    assert.deepEqual(questions.answers.at(-1), ['one', { refused: 'no space left on device' }]);
    put.mock.restore();
    assert.equal(await ask(), 1);
    const [, answer] = questions.answers.at(-1) ?? [];
    assert.ok(answer !== undefined && 'serial' in answer, JSON.stringify(answer));
    const { cert = '' } = (await bundles.get('to-one')) ?? {};
    assert.equal(new X509Certificate(cert).serialNumber, answer.serial);
    assert.equal(await ask(), 2, 'another one is requested');
  });

  it('takes no place of a certificate that is there, but not known of yet', async () => {
    const { questions, renewals, links, router, bundles } = twoLinks();
    questions.isFull = false;
    questions.open.add('one');
    const newer = issueBundle(makeAuthority(), 'to-one', { subject: 'west', client: true });
    await bundles.put(newer);
    await renewals.check(links, router, () => true);
    await until(() => questions.answers.length > 0, 'an answer');
    assert.deepEqual(questions.answers, [['one', { refused: 'another certificate has replaced it in the meantime' }]]);
    assert.equal((await bundles.get('to-one'))?.cert, newer.cert);
  });

  it('takes the place of one that is of no use, for which the one before stands in', async () => {
    const { questions, renewals, links, router, bundles } = twoLinks();
    questions.isFull = false;
    questions.open.add('one');
    const [newer, other] = [1, 2].map(() => issueBundle(makeAuthority(), 'to-one', { subject: 'west', client: true }));
    assert.ok(newer !== undefined && other !== undefined);
    await bundles.put({ ...newer, key: other.key });
    await renewals.check(links, router, () => true);
    await until(() => questions.answers.length > 0, 'an answer');
    assert.ok('serial' in (questions.answers[0]?.[1] ?? {}), JSON.stringify(questions.answers));
    assert.notEqual((await bundles.get('to-one'))?.cert, newer.cert);
  });

  it('is not repeated if only its answer cannot be written, and that answer is reported later', async () => {
    const { questions, look } = twoLinks();
    questions.open.add('one');
    assert.deepEqual([await look(), await look(), await look()], [1, 1, 1], 'its site is asked once');
    questions.isFull = false;
    assert.equal(await look(), 1);
    assert.ok(questions.answers.length === 1 && questions.answers[0]?.[0] === 'one' && 'serial' in questions.answers[0][1]);
    questions.open.add('one');
    assert.equal(await look(), 2, 'a repeated request is processed');
  });

  it('takes no other link with it whose question cannot be answered', async () => {
    const { questions, look } = twoLinks(30, Date.now() - 25 * DAY);
    questions.open.add('not-in-use');
    assert.equal(await look(), 2, 'both that are due are renewed');
  });

  it('is not begun again for a question that was still open when a look began', async () => {
    const { questions, look, renewals, router, links } = twoLinks();
    questions.isFull = false;
    questions.open.add('one');
    const reading = Promise.withResolvers<void>();
    let during: Promise<readonly string[]> | undefined;
    const renewing: RenewingRouter = {
      state: router.state,
      renew: async (...given) => {
        // Another look reads the questions now, and comes to that link once this is over.
        questions.whenRead = reading.promise;
        during = renewals.check(links, router, () => true);
        return router.renew(...given);
      },
    };
    assert.equal(await look(renewing), 1);
    reading.resolve();
    assert.deepEqual(await during, []);
  });
});

describe('a certificate that has ended while its link is up', () => {
  it('is asked for again more and more rarely', async (t) => {
    const layout = await aNamespace(t);
    const meets = withoutTimers(t);
    const now = Date.now();
    const authority = makeAuthority({ clock: () => now - DAY });
    const tls = issueBundle(authority, 'to-east', { subject: 'west', client: true, days: 0.5 }, () => now - DAY);
    let [started, ended, later] = [0, 0, 0];
    const onChange = (): void => void (ended += 1);
    using renewals = renewalsIn(layout, onChange, () => now + later);
    const router: RenewingRouter = {
      state: { listeners: {}, connectors: {}, accesses: {}, incoming: [], network: [], links: { 'Link/to-east': { operational: true } } },
      renew: () => Promise.reject(new Error('it is too late to renew it')),
    };
    // A minute of looks, twice a second.
    for (; later < 60_000; later += 500) {
      started += (await renewals.check([{ name: 'Link/to-east', endpoints: [], cost: 1, tls }], router, () => true)).length;
      await meets(() => ended === started);
    }
    assert.ok(started >= 4 && started <= 6, `${started} times in a minute`);
  });
});

describe('a certificate that is due and cannot be renewed', () => {
  it('is reported with its expiry, reason and remedy from the second failure until another replaces it', async (t) => {
    const layout = await aNamespace(t);
    const meets = withoutTimers(t);
    const now = Date.now();
    const authority = makeAuthority({ clock: () => now - 25 * DAY });
    const tls = issueBundle(authority, 'to-east', { subject: 'west', client: true }, () => now - 25 * DAY);
    let [started, ended, later] = [0, 0, 0];
    using renewals = renewalsIn(
      layout,
      () => void (ended += 1),
      () => now + later,
    );
    const look = async (failure: Error, link: LinkConfig = { name: 'Link/to-east', endpoints: [], cost: 1, tls }): Promise<void> => {
      const router: RenewingRouter = {
        state: { listeners: {}, connectors: {}, accesses: {}, incoming: [], network: [], links: { 'Link/to-east': { operational: true } } },
        renew: () => Promise.reject(failure),
      };
      started += (await renewals.check([link], router, () => true)).length;
      await meets(() => ended >= started);
      later += 3_600_000;
    };
    const told = (): readonly string[] =>
      renewals.problems().map(({ resource, severity, message }) => `${severity} ${resource}: ${message}`);
    const day = new Date(new X509Certificate(tls.cert).validTo).toISOString().slice(0, 10);
    await look(new Error('it is not on record.'));
    assert.deepEqual(told(), [], 'one failure may be a link that ends');
    await look(new Error('it is not on record.'));
    const expected = `warning Link/to-east: its certificate ends on ${day} and cannot be renewed: it is not on record; redeem a new token`;
    assert.deepEqual(told(), [expected]);
    await look(new Error('nothing says whose it is; redeem a new token'));
    assert.equal(told()[0]?.match(/redeem a new token/g)?.length, 1);
    await look(new EarlyRenewalError('not yet', 1000));
    assert.deepEqual(told(), [], 'the other site renews it later');
    await look(new Error('it is not on record.'));
    assert.deepEqual(told(), [expected]);
    const fresh = issueBundle(authority, 'to-east', { subject: 'west', client: true }, () => now);
    await look(new Error('not asked'), { name: 'Link/to-east', endpoints: [], cost: 1, tls: fresh });
    assert.deepEqual(told(), []);
  });
});

describe('a renewal that fails after a while', () => {
  it('is begun again a pause after its failure, and not after its begin', async (t) => {
    const layout = await aNamespace(t);
    const meets = withoutTimers(t);
    const began = Date.now();
    const tls = issueBundle(
      makeAuthority({ clock: () => began - 25 * DAY }),
      'to-east',
      { subject: 'west', client: true },
      () => began - 25 * DAY,
    );
    let [at, ended] = [began, 0];
    const onChange = (): void => void (ended += 1);
    using renewals = renewalsIn(layout, onChange, () => at);
    const router: RenewingRouter = {
      state: { listeners: {}, connectors: {}, accesses: {}, incoming: [], network: [], links: { 'Link/to-east': { operational: true } } },
      renew: () => {
        at += 15_000;
        return Promise.reject(new Error('nothing came within 15 s'));
      },
    };
    const look = (): Promise<readonly string[]> =>
      renewals.check([{ name: 'Link/to-east', endpoints: [], cost: 1, tls }], router, () => true);
    assert.equal((await look()).length, 1);
    await meets(() => ended === 1);
    assert.equal(at, began + 15_000);
    assert.deepEqual(await look(), [], 'it has just failed');
    at += 3_600_000;
    assert.equal((await look()).length, 1);
  });
});

describe('a certificate that comes after one that was renewed, or could not be', () => {
  it('is renewed when it is due itself', async (t) => {
    const west = await linked(t);
    await west.requests.ask('to-east');
    assert.equal(await west.look(), 1, 'the next one is due in weeks');
    const due = (): LinkConfig => {
      const tls = issueBundle(west.authority, 'to-east', { subject: 'west', client: true }, () => Date.now() - 25 * DAY);
      return { ...west.link, tls };
    };
    // Longer than until the next scan: an earlier one would report that it is due, which this test would take for the end of a renewal.
    const answer = (): never => {
      throw new EarlyRenewalError('not now', 3_600_000);
    };
    const refused = { links: [due()], answer };
    assert.equal(await west.look(refused), 1);
    assert.equal(await west.look(refused), 0, 'the same waits');
    assert.equal(await west.look({ links: [due()] }), 1, 'and another does not');
  });

  it('waits where a look has still the one that was renewed', async (t) => {
    const west = await linked(t);
    const tls = issueBundle(west.authority, 'to-east', { subject: 'west', client: true }, () => Date.now() - 25 * DAY);
    const links = [{ ...west.link, tls }];
    assert.deepEqual([await west.look({ links }), await west.look({ links })], [1, 0]);
  });
});

describe('a certificate that takes the place of one that is being renewed', () => {
  it('stays, since the replacement may have been made because the other is revoked', async (t) => {
    const west = await linked(t);
    const other = issueBundle(west.authority, 'to-east', { subject: 'west', client: true });
    const answer = (csr: string): IssuedCertificate => {
      writeFileSync(join(west.layout.internal.certs, 'to-east', 'tls.key'), other.key);
      writeFileSync(join(west.layout.internal.certs, 'to-east', 'tls.crt'), other.cert);
      return issueCertificate(west.authority, { subject: 'west', client: true, csr });
    };
    await west.requests.ask('to-east');
    assert.equal(await west.look({ answer }), 1);
    assert.equal(await west.serial(), new X509Certificate(other.cert).serialNumber);
    assert.deepEqual(await west.requests.answerTo('to-east'), { refused: 'another certificate has replaced it in the meantime' });
  });
});

describe('a renewal that comes too early for the other site', () => {
  it('is asked for again when that site says, and not before', async (t) => {
    const layout = await aNamespace(t);
    const meets = withoutTimers(t);
    const now = Date.now();
    const tls = issueBundle(
      makeAuthority({ clock: () => now - 25 * DAY }),
      'to-east',
      { subject: 'west', client: true },
      () => now - 25 * DAY,
    );
    let [started, asked, ended, at] = [0, 0, 0, now];
    const onChange = (): void => void (ended += 1);
    using renewals = renewalsIn(layout, onChange, () => at);
    const router: RenewingRouter = {
      state: { listeners: {}, connectors: {}, accesses: {}, incoming: [], network: [], links: { 'Link/to-east': { operational: true } } },
      renew: () => {
        asked += 1;
        return Promise.reject(new EarlyRenewalError('one was a moment ago', 3_600_000));
      },
    };
    const link: LinkConfig = { name: 'Link/to-east', endpoints: [], cost: 1, tls };
    for (const [later, times] of [
      [0, 1],
      [3_599_999, 1],
      [3_600_000, 2],
    ] as const) {
      at = now + later;
      started += (await renewals.check([link], router, () => true)).length;
      await meets(() => ended === started);
      assert.equal(asked, times, `after ${later} ms`);
    }
  });
});

describe('a certificate that lives for seconds', () => {
  it('is looked at again before the next look would come, and never for the sake of one with days to go', async (t) => {
    const layout = await aNamespace(t);
    const authority = makeAuthority({ name: 'east' });
    for (const [days, wanted] of [
      [10 / 86_400, true],
      [30, false],
    ] as const) {
      const now = Date.now();
      const tls = issueBundle(authority, 'to-east', { subject: 'west', client: true, days }, () => now);
      const looks = Promise.withResolvers<boolean>();
      const onChange = (): void => looks.resolve(true);
      const renewals = renewalsIn(layout, onChange, () => now);
      const router: RenewingRouter = {
        state: { listeners: {}, connectors: {}, accesses: {}, incoming: [], network: [], links: { 'Link/to-east': { operational: true } } },
        renew: () => Promise.reject(new Error('not now')),
      };
      assert.deepEqual(await renewals.check([{ name: 'Link/to-east', endpoints: [], cost: 1, tls }], router, () => true), []);
      setTimeout(() => looks.resolve(false), wanted ? 10_000 : 600).unref();
      assert.equal(await looks.promise, wanted);
    }
  });
});
