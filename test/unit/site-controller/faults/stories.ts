/** Stories of users with sites in one namespace. */
import { skupperResources } from '../../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../../src/api/skupper/names.ts';
import type { KubeObject } from '../../../../src/kube/objects.ts';
import type { Resource } from '../../../../src/kube/resource.ts';
import type { SitesApi } from '../support/played-sites.ts';

type Kind = keyof typeof skupperResources;
export type Deed = (api: SitesApi) => void;

const put =
  (kind: Kind, name: string, spec: object): Deed =>
  (api) => {
    const of = skupperResources[kind] as Resource<KubeObject>;
    const before = api.read(of, `west/${name}`);
    api.put(of, {
      ...before,
      apiVersion: API_VERSION,
      kind,
      metadata: { ...before?.metadata, name, namespace: 'west' },
      spec,
    } as KubeObject);
  };
const remove =
  (kind: Kind, name: string): Deed =>
  (api) => {
    api.remove(skupperResources[kind] as Resource<KubeObject>, `west/${name}`);
    api.collect();
  };
const all =
  (...deeds: readonly Deed[]): Deed =>
  (api) =>
    deeds.forEach((deed) => deed(api));

const site = put('Site', 'west', { linkAccess: 'default' });
const listener = (name: string, host: string, port: number): Deed => put('Listener', name, { host, port, routingKey: name });
const connector = put('Connector', 'api', { selector: 'app=api', port: 8080, routingKey: 'api' });
const link = put('Certificate', 'link-west', { ca: 'skupper-site-ca', client: true, subject: 'x' });
const access = (port: number): Deed =>
  put('RouterAccess', 'more', {
    accessType: 'local',
    roles: [{ name: 'inter-router', port }],
    generateTlsCredentials: true,
    tlsCredentials: 'more',
  });

/** Each of them a step; between two of them a controller comes to rest. */
export const stories: Readonly<Record<string, readonly Deed[]>> = {
  'a Site with two routers': [put('Site', 'west', { linkAccess: 'default', ha: true })],
  'a Listener and a Connector': [
    all(site, listener('db', 'data', 5432)),
    all(listener('api', 'data', 8080), listener('a', 'other', 80), connector),
  ],
  'a Certificate that comes and goes': [site, link, remove('Certificate', 'link-west')],
  'a RouterAccess that changes': [all(site, access(7000)), access(7001), remove('RouterAccess', 'more')],
  'a Site that gets a second router, and loses it': [site, put('Site', 'west', { linkAccess: 'default', ha: true }), site],
  'a Site whose link access ends': [site, put('Site', 'west', {})],
  'a Site deleted and created again': [all(site, listener('db', 'data', 5432)), all(remove('Site', 'west'), site)],
  'a second Site that takes over': [
    all(site, listener('db', 'data', 5432)),
    put('Site', 'other', { linkAccess: 'default' }),
    remove('Site', 'west'),
  ],
};
