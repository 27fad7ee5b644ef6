/**
 * A well-behaved client: `node pacer.ts PORT PER-SECOND`. Requests a page of a web server on this host's loopback, alternately over one
 * permanent connection and over a new one; a new request begins on time, even if the last one is pending. SIGUSR2 starts it, and the next one stops it:
 * once all its requests have ended, it prints one JSON line with milliseconds of each request that succeeded, and the failures.
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
