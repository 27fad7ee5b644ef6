import { stat } from 'node:fs/promises';
import { eventually } from '../../harness/wait.ts';
import type { Host, Outcome } from './host.ts';

/** An answer that its client has begun to get, and does not read on. */
export interface HeldDownload {
  /** Reads the rest. @returns how curl ended; its standard output is the SHA-256 of the body, in hex */
  readOn(): Promise<Outcome>;
}

/**
 * curl, with a reader behind it that stands still until it is told to go on: the test holds the pace. (`curl --limit-rate` does not: what
 * should take ten seconds was seen to take one and a half.) Of a body that is larger than all buffers on the way, most has yet to come.
 */
export async function startHeldDownload(host: Host, url: string): Promise<HeldDownload> {
  const dir = await host.folder('download');
  const hold = `until [ -e '${dir}/go' ]; do sleep 0.05; done; sha256sum | cut -d' ' -f1`;
  const ended = host.attempt(['bash', '-o', 'pipefail', '-c', `curl -sS --fail -D '${dir}/head' '${url}' | { ${hold}; }`], { timeoutMs: 120_000 });
  await eventually(`an answer from ${url}`, async () => (await stat(`${dir}/head`)).size > 0, { everyMs: 20 });
  return {
    async readOn() {
      await host.run(['touch', `${dir}/go`]);
      return ended;
    },
  };
}
