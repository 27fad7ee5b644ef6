import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { LinkError } from '../../../../src/router/link/link-errors.ts';
import type { DialEndpoint } from '../../../../src/router/link/dial/dial-endpoints.ts';
import { KnownTarget } from '../../../../src/router/link/dial/dial-endpoints.ts';
import { Dialer } from '../../../../src/router/link/dial/dialer.ts';
import { linkHost } from '../support/link-host.ts';
import { siteConfig } from '../support/site.ts';

/** A target without endpoints: the test counts when they are requested. */
class Nowhere extends KnownTarget {
  readonly #asked: () => void;

  constructor(asked: () => void) {
    super();
    this.#asked = asked;
  }

  endpoints(): readonly DialEndpoint[] {
    this.#asked();
    throw new LinkError('no-endpoint', 'There is no endpoint.');
  }

  equals(): boolean {
    return false;
  }
}

test('one of many pending links is dialed per event-loop iteration, and none that was cancelled meanwhile', async () => {
  using host = linkHost(siteConfig('self'));
  let turn = 0;
  const begun: { readonly name: string; readonly turn: number }[] = [];
  const dialers: Dialer[] = Array.from({ length: 12 }, (_, index) => {
    const asked = (): void => {
      begun.push({ name: `link-${index}`, turn });
      dialers[index]?.stop();
    };
    return new Dialer(host, `link-${index}`, new Nowhere(asked));
  });
  dialers[11]?.stop();
  for (; turn < 40; turn += 1) await setImmediate();
  for (const dialer of dialers) dialer.destroy();
  assert.deepEqual(
    begun.map(({ name }) => name),
    Array.from({ length: 11 }, (_, index) => `link-${index}`),
  );
  assert.equal(new Set(begun.map((each) => each.turn)).size, 11);
});
