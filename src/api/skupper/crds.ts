import type { TObject } from 'typebox';
import { customResourceDefinition, structural, type CustomResourceDefinition, type Structural } from '../crd.ts';
import { accessGrantSpec, accessGrantStatus } from './access-grant.ts';
import { accessTokenSpec, accessTokenStatus } from './access-token.ts';
import {
  attachedConnectorBindingSpec,
  attachedConnectorBindingStatus,
  attachedConnectorSpec,
  attachedConnectorStatus,
} from './attached-connector.ts';
import { certificateSpec, certificateStatus } from './certificate.ts';
import { printerColumns } from './columns.ts';
import { connectorSpec, connectorStatus } from './connector.ts';
import { skupperResources, type SkupperKind } from './index.ts';
import { linkSpec, linkStatus } from './link.ts';
import { listenerSpec, listenerStatus } from './listener.ts';
import { multiKeyListenerSpec, multiKeyListenerStatus } from './multi-key-listener.ts';
import { routerAccessSpec, routerAccessStatus } from './router-access.ts';
import { securedAccessSpec, securedAccessStatus } from './secured-access.ts';
import { siteSpec, siteStatus } from './site.ts';

/** Definitions of the connection half. deploy/crds/ holds the same as YAML. */
export function skupperDefinitions(): CustomResourceDefinition[] {
  return kinds.map(([kind, { shortNames = [], description, spec, status }]) =>
    customResourceDefinition({
      resource: skupperResources[kind],
      singular: kind.toLowerCase(),
      shortNames,
      categories: ['earshot'],
      // Deleting a definition deletes every object of its kind, so a Helm release that installed it keeps it.
      annotations: { 'helm.sh/resource-policy': 'keep' },
      description,
      spec,
      status: { schema: status, nullable: false },
      columns: printerColumns[kind],
      specMayBeLeftOut: true,
    }),
  );
}

/** Schemas of the `spec` of each kind. */
export function specSchemas(): readonly (readonly [SkupperKind, Structural])[] {
  return kinds.map(([kind, { spec }]) => [kind, structural(spec)]);
}

interface Described {
  readonly shortNames?: readonly string[];
  readonly description: string;
  readonly spec: TObject;
  readonly status: TObject;
}

const described: Readonly<Record<SkupperKind, Described>> = {
  Site: {
    shortNames: ['st'],
    description: 'A place where workloads run: a namespace that takes part in a network of sites. There is one in a namespace.',
    spec: siteSpec,
    status: siteStatus,
  },
  Listener: {
    shortNames: ['lnr'],
    description: 'A host and port for clients at this site. Connections go to connectors of the same routing key, wherever they are.',
    spec: listenerSpec,
    status: listenerStatus,
  },
  MultiKeyListener: {
    description: 'A Listener with several routing keys. A strategy chooses one for each connection.',
    spec: multiKeyListenerSpec,
    status: multiKeyListenerStatus,
  },
  Connector: {
    shortNames: ['cnr'],
    description: 'A server at this site, to which connections come from listeners of the same routing key, wherever they are.',
    spec: connectorSpec,
    status: connectorStatus,
  },
  Link: {
    shortNames: ['ln'],
    description: 'A way to another site, over mutual TLS, opened by this one. Traffic takes it in both directions.',
    spec: linkSpec,
    status: linkStatus,
  },
  AccessGrant: {
    shortNames: ['grant', 'gr'],
    description: 'The permission to link to this site. Its status has what an AccessToken for another site is made of.',
    spec: accessGrantSpec,
    status: accessGrantStatus,
  },
  AccessToken: {
    shortNames: ['token', 'to'],
    description: 'A ticket from another site, short-lived, which is redeemed there for a Link and the certificate for it.',
    spec: accessTokenSpec,
    status: accessTokenStatus,
  },
  RouterAccess: {
    description: 'The ports at which this site accepts links from others. `linkAccess` of the Site makes one with usual values.',
    spec: routerAccessSpec,
    status: routerAccessStatus,
  },
  SecuredAccess: {
    description: 'A way in from outside the cluster to pods of the system, with a certificate. Made by the system.',
    spec: securedAccessSpec,
    status: securedAccessStatus,
  },
  Certificate: { description: 'A TLS bundle that is made, kept and renewed.', spec: certificateSpec, status: certificateStatus },
  AttachedConnector: {
    shortNames: ['acnr'],
    description:
      'A Connector for pods of a namespace that is no site. The site takes it in by an AttachedConnectorBinding of the same name.',
    spec: attachedConnectorSpec,
    status: attachedConnectorStatus,
  },
  AttachedConnectorBinding: {
    shortNames: ['acnrb'],
    description: 'The counterpart, in the namespace of a site, of an AttachedConnector of the same name elsewhere.',
    spec: attachedConnectorBindingSpec,
    status: attachedConnectorBindingStatus,
  },
};

// The keys of the table are kinds.
const kinds = Object.entries(described) as readonly (readonly [SkupperKind, Described])[];
