import { ROUTER_PORTS } from '../api/skupper/cluster-names.ts';
import type { Platform } from './capabilities.ts';

/** A site in a cluster, for all of its processes. */
export const kubernetes: Platform = {
  name: 'kubernetes',
  capabilities: new Set(['pods', 'service-accounts', 'attached-connectors', 'secured-access', 'services']),
  // Servers are pods, reached by their addresses.
  defaults: { verifyHostname: false },
  // Services in front of the router's ports must know them in advance.
  access: { freePorts: false, reserved: new Set(Object.values(ROUTER_PORTS)) },
  wording: 'words',
};
