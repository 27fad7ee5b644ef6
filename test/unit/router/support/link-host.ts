import type { RouterConfig } from '../../../../src/router/contract.ts';
import { LoopQuota, PeerLoopQuotas } from '../../../../src/limits/loop/loop-quota.ts';
import type { LinkHost } from '../../../../src/router/link/host.ts';
import { Links } from '../../../../src/router/link/links.ts';
import { refuse } from '../../../../src/router/link/refusal.ts';
import { createClosingSlots } from '../../../../src/router/link/session/connection.ts';
import { Liveness } from '../../../../src/router/link/session/liveness.ts';
import { messageTime } from '../../../../src/routing/limits.ts';
import { KeyedCpuBudget } from '../../../../src/limits/cpu-budget.ts';
import { roomy } from './memory.ts';
import { quiet } from './site.ts';

/** A link's view of its router, without a router. */
export function linkHost({ site, siteKey, router, edge }: RouterConfig, changes: Partial<LinkHost> = {}): LinkHost & Disposable {
  const liveness = new Liveness();
  return {
    log: quiet,
    self: `${site.id}/${router}`,
    siteKey,
    links: new Links(),
    liveness,
    memory: roomy(),
    turns: new PeerLoopQuotas(),
    closing: createClosingSlots(),
    dials: new LoopQuota(() => 1),
    messageTime: new KeyedCpuBudget(messageTime.part, messageTime.burst),
    hooks: {},
    events: { onUp: () => {}, onDown: () => {}, onClosed: () => {}, onCost: () => {}, onSilence: () => {}, onLeaving: () => {} },
    draining: false,
    hello: (link) => ({ versions: [1], router, site, edge, link }),
    isRevoked: () => false,
    connect: (stream) => refuse(stream, 404, 'destination_not_found'),
    routingMessage: () => {},
    siblingMessage: () => {},
    changed: () => {},
    [Symbol.dispose]: () => liveness[Symbol.dispose](),
    ...changes,
  };
}
