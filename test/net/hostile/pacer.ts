/**
 * A client as it should be: `node pacer.ts PORT PER-SECOND`. Asks a web server on this host's loopback for its page, in turn over one connection
 * that stays and over a new one; a new request begins on time whatever became of the last. SIGUSR2 asks for what was measured since the one
 * before, one JSON line: milliseconds of each request that went well, and what failed.
 */
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { setTimeout } from 'node:timers/promises';

export interface Paced {
  /** Milliseconds, over the connection that stays, and over new ones. */
  readonly kept: readonly number[];
  readonly fresh: readonly number[];
  readonly failures: readonly string[];
}

if (import.meta.main) await main();

async function main(): Promise<void> {
  const [port = 0, perSecond = 100] = process.argv.slice(2).map(Number);
  const agents = { kept: new Agent({ keepAlive: true, maxSockets: 1 }), fresh: new Agent({ keepAlive: false }) };
  let seen: { kept: number[]; fresh: number[]; failures: string[] } = { kept: [], fresh: [], failures: [] };

  const ask = async (how: keyof typeof agents): Promise<void> => {
    const begun = performance.now();
    const into = seen;
    try {
      const request = get({ host: '127.0.0.1', port, agent: agents[how], signal: AbortSignal.timeout(15_000) });
      // `response` comes with one argument.
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      for await (const _chunk of response);
      if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
      into[how].push(performance.now() - begun);
    } catch (error) {
      into.failures.push(`${how}: ${String(error)}`);
    }
  };

  process.on('SIGUSR2', () => {
    console.log(JSON.stringify(seen satisfies Paced));
    seen = { kept: [], fresh: [], failures: [] };
  });
  console.log('pacing');
  for (let next = performance.now(), turn = 0; ; next += 1_000 / perSecond, turn += 1) {
    const wait = next - performance.now();
    if (wait > 0) await setTimeout(wait);
    void ask(turn % 2 === 0 ? 'kept' : 'fresh');
  }
}
