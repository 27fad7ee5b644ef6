/** A router in a process of its own, so that it can be killed. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { RouterConfig } from '../../../../src/router/contract.ts';
import { siteKeyFrom } from '../../../../src/identity/site-key.ts';
import { start } from './site.ts';

export interface RouterOrder extends Omit<RouterConfig, 'siteKey'> {
  /** The site's key. */
  readonly pem: string;
}

export interface RouterProcess extends Disposable {
  /** Resolves once it has gone, with all its sockets. */
  kill(): Promise<void>;
}

export async function routerProcess(order: RouterOrder): Promise<RouterProcess> {
  const child = fork(import.meta.filename, { execArgv: [] });
  child.send(order);
  await once(child, 'message');
  return {
    kill: async () => {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    [Symbol.dispose]: () => child.kill('SIGKILL'),
  };
}

if (process.argv[1] === import.meta.filename) {
  const [order] = (await once(process, 'message')) as [RouterOrder];
  const { pem, ...config } = order;
  await start({ ...config, siteKey: siteKeyFrom(pem) });
  process.send?.('started');
}
