import { stat } from 'node:fs/promises';
import { eventually } from '../../harness/wait.ts';
import type { Host } from './host.ts';

/** An answer that its client has begun to get, and does not read on. */
export interface HeldDownload {
  /** Reads the rest. @returns the SHA-256 of the body, in hex, and what curl says on its standard error */
  readOn(): Promise<{ readonly sha256: string; readonly stderr: string }>;
}

/** Words of a shell that stand still until `go` is there, and then take what comes and say its hash. */
export const standStill = (dir: string): string => `until [ -e '${dir}/go' ]; do sleep 0.1; done; sha256sum`;

/**
 * curl, with a reader behind it that stops until the test lets it continue. (`curl --limit-rate` does not hold the pace: what
 * should take ten seconds was seen to take one and a half.) Of a body that is larger than all buffers on the way, most has yet to come.
 */
export async function startHeldDownload(host: Host, url: string): Promise<HeldDownload> {
  const dir = await host.folder('download');
  const ended = host.attempt(['bash', '-o', 'pipefail', '-c', `curl -sS --fail -D '${dir}/head' '${url}' | { ${standStill(dir)}; }`], {
    timeoutMs: 120_000,
  });
  await eventually(`an answer from ${url}`, async () => (await stat(`${dir}/head`)).size > 0, { everyMs: 20 });
  return {
    async readOn() {
      await host.run(['touch', `${dir}/go`]);
      const { stdout, stderr } = await ended;
      return { sha256: stdout.split(' ')[0] ?? '', stderr };
    },
  };
}
