/**
 * Very many connections one after the other, each for one request: a million, or as many as fit into MOST_TIME on a slow machine.
 * EARSHOT_SHORT_CONNECTIONS says how many, however long that takes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, startLinkedPair, startNginx, type LinkedPair } from './harness/index.ts';

const GIVEN = process.env['EARSHOT_SHORT_CONNECTIONS'];
const WANTED = Number(GIVEN ?? 1_000_000);
/** Seconds. */
const MOST_TIME = GIVEN === undefined ? 60 : Infinity;
/** Duration of one run of wrk. */
const TURN = 5;
/** With fewer, nothing would be shown. */
const LEAST = 20_000;
const PORT = 8080;
/**
 * MB by which a process may be larger at the end than after the first fifth. Several come and go with the garbage. An object that stays of
 * each connection is more, even after a hundred thousand connections.
 */
const MOST_GROWTH = 15;

test('very many short connections leave no memory and no descriptor behind', async (t) => {
  await using pair = await startLinkedPair(t, { web: PORT });
  await startNginx(pair.server, { port: PORT });
  await pair.ready();
  const before = await look(pair);
  let early: Look | undefined;
  const begun = performance.now();
  const seconds = (): number => (performance.now() - begun) / 1_000;
  let answered = 0;
  while (answered < WANTED && seconds() < MOST_TIME) {
    answered += await turn(pair);
    if (early === undefined && (answered >= WANTED / 5 || seconds() >= MOST_TIME / 5)) {
      early = await settled(pair, before);
      t.diagnostic(`after ${answered}: ${shown(early)}`);
    }
  }
  const took = seconds();
  const created = await pair.west.metric('earshot_router_connections_opened_total', { role: 'listener' });
  await settled(pair, before);
  const last = await eventually(`no more memory than ${MOST_GROWTH} MB above what it was after the first fifth`, async () => {
    const now = await look(pair);
    // Garbage is collected when nothing else is to be done; a leak is not.
    if (now.memory.every((megabytes, at) => megabytes <= (early?.memory[at] ?? 0) + MOST_GROWTH)) return now;
    throw new Error(`${early === undefined ? 'nothing' : shown(early)} then, ${shown(now)} now`);
  });
  t.diagnostic(`${created} connections in ${took.toFixed(0)} s: ${(created / took).toFixed(0)} a second; ${shown(last)}`);
  assert.ok(created >= answered && created >= Math.min(LEAST, WANTED), `${created} connections for ${answered} answers`);
  assert.equal(await pair.west.metric('earshot_router_connections_failed_total'), 0);
});

interface Look {
  readonly memory: readonly number[];
  readonly descriptors: readonly number[];
}

const shown = ({ memory }: Look): string => `${memory.map((megabytes) => megabytes.toFixed(0)).join(' and ')} MB`;

/** West and east. */
async function look({ west, east }: LinkedPair): Promise<Look> {
  const sites = [west.process, east.process];
  return { memory: sites.map((each) => each.memory()), descriptors: await Promise.all(sites.map((each) => each.descriptors())) };
}

/** Once no connection is open any more and the descriptors are as at the start. */
async function settled(pair: LinkedPair, before: Look): Promise<Look> {
  await eventually(
    'no connection to be open',
    async () =>
      (await pair.west.metric('earshot_router_connections_open')) === 0 &&
      (await pair.east.metric('earshot_router_connections_open')) === 0,
  );
  return eventually('the descriptors to be as before', async () => {
    const now = await look(pair);
    if (now.descriptors.every((count, at) => count <= (before.descriptors[at] ?? 0))) return now;
    throw new Error(`${now.descriptors.join(' and ')} descriptors, before ${before.descriptors.join(' and ')}`);
  });
}

/** @returns how many requests were answered, each over a connection of its own */
async function turn({ client }: LinkedPair): Promise<number> {
  const said = await client.run(
    ['wrk', '-t', '1', '-c', '50', '-d', `${TURN}s`, '--timeout', '20s', '-H', 'Connection: close', `http://127.0.0.1:${PORT}/`],
    { timeoutMs: (TURN + 50) * 1_000 },
  );
  assert.doesNotMatch(said, /Socket errors|Non-2xx/);
  return Number(/(\d+) requests in/.exec(said)?.[1]);
}
