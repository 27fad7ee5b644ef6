import type { Host } from '../../test/net/harness/index.ts';
import type { SystemName } from './options.ts';
import { RATHOLE } from './systems/rathole.ts';

/** Versions of the compared and the measuring programs, as each prints it. */
export async function versionsOf(host: Host, systems: readonly SystemName[]): Promise<Readonly<Record<string, string>>> {
  const asked: readonly (readonly [name: string, argv: readonly string[]])[] = [
    ...(systems.includes('haproxy') ? [['HAProxy', ['haproxy', '-v']] as const] : []),
    ...(systems.includes('rathole') ? [['rathole', [RATHOLE, '--version']] as const] : []),
    ['iperf3', ['iperf3', '--version']],
    ['wrk', ['wrk', '-v']],
    ['nginx', ['nginx', '-v']],
  ];
  return Object.fromEntries(
    await Promise.all(
      asked.map(async ([name, argv]): Promise<[string, string]> => {
        const { stdout, stderr } = await host.attempt(argv);
        const said = `${stdout}${stderr}`;
        // rathole says when it was built before it says its version.
        return [name, (/Build Version:\s+(\S+)/.exec(said) ?? /(\d+\.\d+(?:\.\d+)?)/.exec(said))?.[1] ?? 'unknown'];
      }),
    ),
  );
}
