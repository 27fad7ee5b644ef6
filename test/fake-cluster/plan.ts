import type { Random } from '../simulate/random.ts';

/** Parts of a cluster, as its seed draws them. */
export interface ClusterPlan {
  readonly nodes: number;
  /** Replicas of the controller. If there are several, one leads. */
  readonly replicas: number;
  readonly classes: number;
  readonly names: number;
  /** Whether the API server streams lists. */
  readonly streams: boolean;
  /** Milliseconds that a message is under way, and that Kubernetes' own controllers take. */
  readonly usual: number;
  readonly others: number;
  /** Whether requested rechecks run while events still happen. */
  readonly runsRechecks: boolean;
  /** Whether the quiet at the end is an hour. */
  readonly long: boolean;
  /** Whether external-provisioner makes volumes, and not the controller. */
  readonly sidecar: boolean;
  /** Whether pods of one claim wait for an address on one node, and nothing else happens. */
  readonly waits: boolean;
}

export function drawPlan(random: Random, more: Random, waiting: Random): ClusterPlan {
  const replicas = random.chance(0.2) ? 2 : 1;
  const plan = {
    nodes: random.int(1, 3),
    replicas,
    classes: 3,
    names: random.int(1, 4),
    streams: random.chance(0.8),
    usual: random.scaled(1, 20),
    others: random.scaled(5, 500),
    runsRechecks: random.chance(0.2),
    // A lease is renewed a thousand times in an hour.
    long: replicas === 1 && random.chance(0.04),
    sidecar: more.chance(0.3),
    waits: waiting.chance(0.1),
  };
  return plan.waits ? { ...plan, nodes: 1, others: plan.others / 10 } : plan;
}
