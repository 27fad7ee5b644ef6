/** Ways to a site's router pods: through the API server with the user's rights, or directly from within the cluster. */
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { ROUTER_PORTS } from '../../api/skupper/cluster-names.ts';
import type { PodAccess } from '../../kube/contract.ts';
import { boundedText } from './router-api-client.ts';
import type { RouterPod } from './router-pods.ts';

export interface RouterReach {
  /** Rights that each needs, as verbs and resource; empty without the API server. */
  readonly needs: { readonly metrics: readonly PodRight[]; readonly api: readonly PodRight[] };
  /** @throws Error if the pod does not answer */
  metrics(pod: RouterPod): Promise<string>;
  /** Opens a TCP stream to the port of the router API. @throws Error if the pod is unreachable */
  openApi(pod: RouterPod): Promise<Duplex>;
}

export interface PodRight {
  readonly verb: string;
  readonly subresource: string;
}

export function reachThroughApiServer(client: PodAccess, namespace: string): RouterReach {
  return {
    needs: {
      metrics: [{ verb: 'get', subresource: 'proxy' }],
      api: ['get', 'create'].map((verb) => ({ verb, subresource: 'portforward' })),
    },
    metrics: ({ name }) => client.getFromPod({ name, namespace }, { port: ROUTER_PORTS.http, page: 'metrics' }),
    openApi: ({ name }) => client.openPort({ name, namespace }, ROUTER_PORTS.api),
  };
}

/** Milliseconds. */
const PATIENCE = 5_000;

export const reachDirectly: RouterReach = {
  needs: { metrics: [], api: [] },
  metrics: async (pod) => {
    const signal = AbortSignal.timeout(PATIENCE);
    const asked = request({ host: addressOf(pod), port: ROUTER_PORTS.http, path: '/metrics', agent: false, signal }).end();
    // The event has one argument.
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return boundedText(response);
  },
  openApi: async (pod) => {
    const socket = connect({ host: addressOf(pod), port: ROUTER_PORTS.api });
    await once(socket, 'connect', { signal: AbortSignal.timeout(PATIENCE) });
    return socket;
  },
};

function addressOf({ name, address }: RouterPod): string {
  if (address === undefined) throw new Error(`the pod ${name} does not have an address yet`);
  return address;
}
