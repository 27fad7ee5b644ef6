import { ROUTER_PORTS } from '../api/skupper/cluster-names.ts';
import type { Platform } from './capabilities.ts';

/** A site in a cluster, in whichever of its processes. */
export const kubernetes: Platform = {
  name: 'kubernetes',
  capabilities: new Set(['pods', 'service-accounts', 'attached-connectors', 'secured-access', 'services']),
  // Servers are pods, met by their addresses; and every Secret that was issued has a ca.crt, which existing clients need not match.
  defaults: { verifyHostname: false, requireClientCert: false },
  // Something else stands before the router's ports and has to know them.
  access: { freePorts: false, reserved: new Set(Object.values(ROUTER_PORTS)) },
  wording: 'words',
};
