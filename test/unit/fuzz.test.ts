/** Short runs of what `npm run fuzz` does for long. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metrics } from '../../src/telemetry/metrics.ts';
import { targets } from '../fuzz/targets.ts';

/** At least so many of the cases are accepted and refused, and each of the notes was met: otherwise hardly anything was tried. */
const runs = [
  { name: 'session', holds: 'sessions take or refuse whatever frames come, and forget their peers', cases: 300, least: [50, 50] },
  {
    name: 'link',
    holds: 'links take or refuse whatever a peer with a good certificate says, and forget it',
    cases: 150,
    least: [10, 50],
    notes: ['up'],
  },
  {
    name: 'trust',
    holds: 'untrusted bodies, tokens, requests, certificates and state are accepted or refused',
    cases: 1_400,
    least: [50, 500],
  },
  { name: 'probe-fields', holds: 'fields of probes are understood or ignored, whatever they contain', cases: 2_000, least: [200, 100] },
  { name: 'shared-figures', holds: 'figures of other sites are read or ignored, whatever they contain', cases: 2_000, least: [100, 100] },
  { name: 'files', holds: 'whatever stands in a file becomes a plan, or a problem fit for a terminal', cases: 150, least: [20, 50] },
] as const satisfies readonly { name: string; holds: string; cases: number; least: readonly [number, number]; notes?: readonly string[] }[];

for (const { name, holds, cases, least, ...more } of runs) {
  test(holds, async () => {
    const tally = await targets[name]?.run({ cases, seed: 1, first: 0, step: () => {} });
    assert.ok(tally !== undefined && tally.accepted > least[0] && tally.refused > least[1], JSON.stringify(tally));
    for (const note of 'notes' in more ? more.notes : []) assert.ok((tally.notes?.[note] ?? 0) > 0, note);
  });
}

test('the routers of those cases count no memory any more', async () => {
  await targets['link']?.run({ cases: 25, seed: 1, first: 0, step: () => {} });
  assert.match(await metrics.metrics(), /^earshot_router_memory_budget_bytes 0$/m);
});
