import type { Connector, Link, Listener, MultiKeyListener, RouterAccess, Site } from '../../../src/api/skupper/index.ts';
import type { TlsBundle } from '../../../src/router/contract.ts';
import type { BundleProblem, Material } from '../../../src/site/material.ts';
import { sortResources, type SiteObject, type SiteResources } from '../../../src/site/resources.ts';

const apiVersion = 'skupper.io/v2alpha1';

export function aSite(spec: Site['spec'] = {}, name = 'west'): Site {
  return { apiVersion, kind: 'Site', metadata: { name }, spec };
}

export function aListener(name: string, spec: Partial<Listener['spec']> = {}): Listener {
  return { apiVersion, kind: 'Listener', metadata: { name }, spec: { routingKey: name, host: '127.0.0.1', port: 8080, ...spec } };
}

export function aMultiKeyListener(name: string, spec: Partial<MultiKeyListener['spec']> = {}): MultiKeyListener {
  return {
    apiVersion,
    kind: 'MultiKeyListener',
    metadata: { name },
    spec: { host: '127.0.0.1', port: 8081, strategy: { priority: { routingKeys: ['a', 'b'] } }, ...spec },
  };
}

export function aConnector(name: string, spec: Partial<Connector['spec']> = {}): Connector {
  return { apiVersion, kind: 'Connector', metadata: { name }, spec: { routingKey: name, host: 'db.internal', port: 5432, ...spec } };
}

export function aLink(name: string, spec: Partial<Link['spec']> = {}): Link {
  const endpoints = [
    { name: 'inter-router', host: '192.0.2.1', port: '55671' },
    { name: 'edge', host: '192.0.2.1', port: '45671' },
  ];
  return { apiVersion, kind: 'Link', metadata: { name }, spec: { endpoints, tlsCredentials: 'whole', cost: 1, ...spec } };
}

export function aRouterAccess(name: string, spec: Partial<RouterAccess['spec']> = {}): RouterAccess {
  return {
    apiVersion,
    kind: 'RouterAccess',
    metadata: { name },
    spec: { roles: [{ name: 'inter-router' }], tlsCredentials: 'whole', ...spec },
  };
}

export function resources(...objects: readonly SiteObject[]): SiteResources {
  return sortResources(objects);
}

export const whole: TlsBundle = { name: 'whole', cert: 'CERT', key: 'KEY', ca: 'CA' };

/** Bundles are checked for nothing but what is there. */
export function aMaterial(given: Partial<Material> = {}): Material {
  return {
    capabilities: new Set(),
    defaults: { verifyHostname: true },
    bundles: new Map([['whole', whole]]),
    unreadable: new Map(),
    ownHosts: [],
    lastValid: () => undefined,
    bundleLocation: (name) => `input/certs/${name}/`,
    check: (bundle, use): readonly BundleProblem[] => {
      const missing = use === 'trust' ? bundle.ca === undefined : bundle.key === undefined;
      return missing ? [{ code: use === 'trust' ? 'tls-no-ca' : 'tls-no-key', message: 'something is missing', passing: false }] : [];
    },
    ...given,
  };
}
