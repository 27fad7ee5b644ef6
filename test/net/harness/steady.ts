import { eventually } from '../../harness/wait.ts';
import { HarnessError } from '../../harness/failures.ts';
import type { Host } from './host.ts';

/** One connection to Redis that is asked for its number twenty times a second, as long as the test runs. */
export interface Steady {
  /** Waits for further answers, and fails if the connection was ever another one, or received an error. */
  unharmed(): Promise<void>;
}

/** @param port of a listener that leads to Redis */
export async function startSteady(host: Host, port: number): Promise<Steady> {
  // A program that writes to a file would keep what it has to say until there is a page of it.
  const asking = ['redis-cli', '-p', String(port), '-r', '-1', '-i', '0.05', 'client', 'id'];
  const client = await host.spawn(['stdbuf', '-oL', '-eL', ...asking], { name: `steady-${port}` });
  const answers = (): readonly string[] => client.output.split('\n').slice(0, -1);
  const unharmed = async (): Promise<void> => {
    const before = answers().length;
    await eventually(`further answers on the connection to port ${port}`, () => answers().length > before + 1, { everyMs: 20 });
    const all = answers();
    const other = all.findIndex((answer) => answer !== all[0] || !/^\d+$/.test(answer));
    if (other === -1) return;
    throw new HarnessError('COMMAND_FAILED', `a connection that was to last was ${all[0]} first, and then said ${all[other]}`);
  };
  await unharmed();
  return { unharmed };
}
