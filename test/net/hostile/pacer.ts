/**
 * A client as it should be: `node pacer.ts PORT PER-SECOND`. Asks a web server on this host's loopback for its page, in turn over one connection
 * that stays and over a new one; a new request begins on time whatever became of the last. SIGUSR2 has it begin, and the next one end: when all
 * that it has asked for has come of something, it says in one JSON line what: milliseconds of each request that went well, and what failed.
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

type Seen = { readonly [Key in keyof Paced]: Paced[Key][number][] };

if (import.meta.main) main();

function main(): void {
  const [port = 0, perSecond = 100] = process.argv.slice(2).map(Number);
  const agents = { kept: new Agent({ keepAlive: true, maxSockets: 1 }), fresh: new Agent({ keepAlive: false }) };

  const ask = async (how: keyof typeof agents, into: Seen): Promise<void> => {
    const begun = performance.now();
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

  const pace = async (signal: AbortSignal): Promise<void> => {
    const seen: Seen = { kept: [], fresh: [], failures: [] };
    const asked: Promise<void>[] = [];
    for (let next = performance.now(), turn = 0; !signal.aborted; turn += 1) {
      asked.push(ask(turn % 2 === 0 ? 'kept' : 'fresh', seen));
      next += 1_000 / perSecond;
      const wait = next - performance.now();
      if (wait > 0) await setTimeout(wait);
    }
    await Promise.all(asked);
    console.log(JSON.stringify(seen satisfies Paced));
  };

  let pacing: AbortController | undefined;
  process.on('SIGUSR2', () => {
    if (pacing === undefined) {
      pacing = new AbortController();
      void pace(pacing.signal);
    } else {
      pacing.abort();
      pacing = undefined;
    }
  });
  // Listening for a signal does not keep a process alive.
  setInterval(() => {}, 60_000);
  console.log('ready');
}
