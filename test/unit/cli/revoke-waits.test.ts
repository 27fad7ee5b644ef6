import assert from 'node:assert/strict';
import { test } from 'node:test';
import { revokeSite } from '../../../src/cli/actions/site-actions.ts';
import { ConfirmedRevocations } from '../../../src/platform/linux/confirmed-revocations.ts';
import { DEFAULT_ROUTER } from '../../../src/platform/linux/layout.ts';
import { makeNamespace } from '../../../src/platform/linux/site.ts';
import { openLedger } from '../../../src/trust/disk/ledger.ts';
import { revocationsOf } from '../../../src/trust/revocation.ts';
import { Namespace } from './namespace.ts';

const EAST = '873f7632-3838-8275-8aad-abfcf2526e25';
const terminal = { out: () => {}, note: () => {}, input: () => Promise.resolve('') };

test('a revocation returns once the router that runs refuses what was revoked, and says so where it does not', async () => {
  await using west = await Namespace.make();
  await west.run();
  const router = new ConfirmedRevocations(west.layout, DEFAULT_ROUTER);
  await router.confirm({ sites: [], serials: [] });
  await assert.rejects(revokeSite('west', EAST, terminal, 0), {
    code: 'not-ready',
    message: /router "router" does not refuse the site yet/,
  });
  const ledger = await openLedger(west.layout.internal.root);
  const waiting = revokeSite('west', EAST, terminal);
  await router.confirm(revocationsOf(await ledger.revoked()));
  await waiting;
});

test('a revocation waits neither without a running router nor for one that does not report what it refuses', async () => {
  await using west = await Namespace.make();
  await makeNamespace(west.layout);
  await new ConfirmedRevocations(west.layout, DEFAULT_ROUTER).confirm({ sites: [], serials: [] });
  await revokeSite('west', EAST, terminal, 0);
  await using east = await Namespace.make();
  await east.run();
  await revokeSite('west', EAST, terminal, 0);
});
