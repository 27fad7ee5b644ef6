import type { Loop } from '../simulate/loop.ts';
import type { Network } from './network.ts';
import type { Process } from './process.ts';

/** Calls a service of a process over its socket. `done` is called once, from outside of the process. */
export function callService(
  { loop, network }: { readonly loop: Loop; readonly network: Network },
  { process, service, method }: { readonly process: Process | undefined; readonly service: string; readonly method: string },
  { request, limit }: { readonly request: unknown; readonly limit: number },
  done: (error: unknown, answer: unknown) => void,
): void {
  let over = false;
  const ended = new AbortController();
  const finish = (error: unknown, answer?: unknown): void => {
    if (over) return;
    over = true;
    forget();
    loop.after(network.delay() / 10, undefined, () => done(error, answer));
  };
  const forget = process?.onEnd(() => finish(new Error('the connection broke'))) ?? ((): void => {});
  const call = process?.services.get(service)?.[method];
  if (process === undefined || call === undefined) {
    finish(new Error('connection refused'));
    return;
  }
  loop.soon(process, () => {
    call(request, { signal: ended.signal, deadline: Date.UTC(2030, 0, 1) + loop.now + limit }).then(
      (answer) => finish(undefined, answer),
      (error: unknown) => finish(error),
    );
  });
  loop.after(
    limit,
    process,
    () => {
      if (over) return;
      ended.abort(new Error('deadline exceeded'));
      finish(new Error('deadline exceeded'));
    },
    'timer',
  );
}
