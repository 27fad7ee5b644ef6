/** Runs a controller on the leading replica. */
import type { Logger } from '../../telemetry/log.ts';
import { gauge } from '../../telemetry/metrics.ts';
import { aborted } from '../../work/pause.ts';
import type { KubeClient } from '../contract.ts';
import { FencedClient } from '../lease/fenced-client.ts';
import { whileLeading } from '../lease/lease.ts';

const leader = gauge('earshot_leader', '1 while this replica leads.');

/** The Lease that the replicas share. */
export interface Election {
  /** Opens a separate client for the election, so that a renewal never waits behind other writes. */
  readonly connect: (signal: AbortSignal) => Promise<KubeClient>;
  readonly namespace: string;
  readonly name: string;
  /** Unique identity of each replica: the pod's name. */
  readonly identity: string;
}

export interface Controller {
  /** Waits for running reconciles, up to the deadline. */
  stop(deadlineMilliseconds: number): Promise<void>;
}

/** Milliseconds in which running reconciles may finish. */
const STOP_DEADLINE = 10_000;

/** Work that only the leader runs. `client` writes only while this replica leads. */
export type Led = (leading: AbortSignal, client: KubeClient) => Promise<void>;

/**
 * Runs `work` while this replica leads, or always without an election. Rejects with a LeaseLostError when the lease is lost: the
 * process must then end, because its work must not continue.
 */
export async function runElected(
  parts: { readonly election: Election | undefined; readonly client: KubeClient; readonly stopped: AbortSignal; readonly log: Logger },
  work: Led,
): Promise<void> {
  const { election, stopped, log } = parts;
  if (election === undefined) return work(stopped, parts.client);
  const { connect, ...lease } = election;
  const end = new AbortController();
  await using client = await connect(end.signal);
  await whileLeading(
    {
      ...lease,
      client,
      signal: stopped,
      onChange: (event, holder) => log.info({ event, holder }, 'leader election'),
      onProblem: (error) => log.warn({ error }, 'the lease cannot be read or renewed'),
    },
    (leading, stillLeading) => work(leading, new FencedClient(parts.client, stillLeading)),
  );
  end.abort();
}

/** Starts a controller and stops it once `leading` is aborted, gracefully if the process was stopped. */
export async function runWhileLeading(
  { leading, stopped, log }: { readonly leading: AbortSignal; readonly stopped: AbortSignal; readonly log: Logger },
  start: () => Promise<Controller>,
): Promise<void> {
  let controller: Controller | undefined;
  try {
    controller = await start();
    leader.set(1);
    log.info('leading');
    await aborted(leading);
  } catch (error) {
    if (!leading.aborted) throw error;
  } finally {
    // After a lost lease another replica may lead soon, so it does not wait.
    await controller?.stop(stopped.aborted ? STOP_DEADLINE : 0);
    leader.set(0);
  }
}
