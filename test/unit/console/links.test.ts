import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readLinks } from '../../../src/console/facts.ts';
import { linkViews } from '../../../src/console/views.ts';
import { anyText } from '../support/any-text.ts';
import { memoryState, memoryWatcher } from './memory-sources.ts';

const since = Date.parse('2025-12-31T23:00:00Z');
const figures = { since, certificateExpires: since + 1, roundTrip: 3.14159, bytes: { sent: 10, received: 20 }, streams: 2, queued: 5 };
const hub = { name: 'hub', cost: 1, operational: true, remoteSiteId: 'hub-id', remoteSiteName: 'hub', attempts: 4, figures };
const shown = {
  since: '2025-12-31T23:00:00.000Z',
  certificateExpires: '2025-12-31T23:00:00.001Z',
  roundTripMs: 3.14,
  sent: 10,
  received: 20,
  streams: 2,
  queuedBytes: 5,
};

test('a link is shown with its figures, attempts and last problem', async () => {
  const state = memoryState();
  const incoming = { siteId: 'south-id', siteName: 'south', address: '192.0.2.1:1', serial: 'A1', cost: 1, since, figures };
  state.links = { items: [{ ...hub, lastProblem: { code: 'lost', message: 'It ended.', at: since } }], incoming: [incoming] };
  const watcher = memoryWatcher(state);
  await watcher.read();
  const [out, from] = linkViews(watcher.facts, watcher.figures);
  assert.deepEqual(out, { ...out, ...shown, attempts: 4, lastProblem: 'It ended.', lastProblemAt: '2025-12-31T23:00:00.000Z' });
  assert.deepEqual(from, { ...from, ...shown, serial: 'A1' });
});

test('a link from another site that ended is down, with the reason, until any router has it again', async () => {
  const state = memoryState();
  const south = { siteId: 'south-id', siteName: 'south', address: '192.0.2.1:1', cost: 1, since };
  const endedIncoming = [{ ...south, until: since + 1_000, reason: 'The peer is silent.' }];
  state.links = { items: [], incoming: [], endedIncoming };
  const watcher = memoryWatcher(state);
  await watcher.read();
  const states = () =>
    linkViews(watcher.facts, watcher.figures)
      .filter(({ direction }) => direction === 'incoming')
      .map((link) => [link.state, link.message, link.since]);
  assert.deepEqual(states(), [['down', 'The peer is silent.', '2025-12-31T23:00:01.000Z']]);
  state.links = { items: [], incoming: [{ ...south, figures }], endedIncoming };
  state.now += 1_000;
  await watcher.read();
  assert.deepEqual(states(), [['up', undefined, '2025-12-31T23:00:00.000Z']]);
});

test('bytes of a link change on a page with the other figures, not with each read of the state', async () => {
  const state = memoryState();
  state.links = { items: [hub], incoming: [] };
  const watcher = memoryWatcher(state);
  await watcher.read();
  const sent = (): unknown => linkViews(watcher.facts, watcher.figures)[0]?.sent;
  state.links = { items: [{ ...hub, figures: { ...figures, bytes: { sent: 11, received: 20 } } }], incoming: [] };
  state.now += 1_000;
  await watcher.read();
  assert.equal(sent(), 10);
  state.now += 60_000;
  await watcher.read();
  assert.equal(sent(), 11);
});

test('bytes a second of a link come from the oldest sample of the last minute that has it', async () => {
  const state = memoryState();
  const watcher = memoryWatcher(state);
  const rates: unknown[] = [];
  const upAgain = since + 30_000;
  for (const [began, sent, received] of [
    [since, 1_000, 0],
    [since, 6_000, 50],
    [since, 6_000, 100],
    // The link ended and is up again, so its counts begin at zero.
    [upAgain, 500, 0],
    [upAgain, 1_500, 20],
  ] as const) {
    state.links = { items: [{ ...hub, figures: { ...figures, since: began, bytes: { sent, received } } }], incoming: [] };
    await watcher.read();
    rates.push(linkViews(watcher.facts, watcher.figures)[0]?.rates);
    state.now += 5_000;
  }
  assert.deepEqual(rates, [undefined, { sent: 1_000, received: 10 }, { sent: 500, received: 10 }, undefined, { sent: 200, received: 4 }]);
});

test('a link whose router counts no bytes has no rates', async () => {
  const state = memoryState();
  state.links = { items: [{ ...hub, figures: { since } }], incoming: [] };
  const watcher = memoryWatcher(state);
  await watcher.read();
  state.now += 5_000;
  await watcher.read();
  assert.equal(linkViews(watcher.facts, watcher.figures)[0]?.rates, undefined);
});

test('any answer of a router gives links that can be shown', async () => {
  const number = fc.oneof(fc.double(), fc.integer(), anyText());
  const problem = fc.oneof(fc.anything(), fc.record({ message: anyText(), at: number }));
  const anyFigures = fc.oneof(fc.anything(), fc.record({ since: number, certificateExpires: number, bytes: fc.anything() }));
  const item = fc.record({ name: anyText(), operational: fc.boolean(), figures: anyFigures, lastProblem: problem }, { requiredKeys: [] });
  const answer = fc.oneof(fc.anything(), fc.record({ items: fc.oneof(fc.anything(), fc.array(item)), incoming: fc.array(item) }));
  const watcher = memoryWatcher(memoryState());
  await watcher.read();
  fc.assert(
    fc.property(answer, (any) => {
      const facts = { ...watcher.facts, ...readLinks(any, 10) };
      for (const view of linkViews(facts, watcher.figures)) assert.doesNotMatch(JSON.stringify(view), /\p{Cc}/u);
    }),
  );
});
