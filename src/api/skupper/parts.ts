/** Fields that several kinds share. */
import type { TProperties } from 'typebox';
import { conditions } from '../condition-schema.ts';
import { RESERVED_KEYS } from '../../text/names.ts';
import { choice, flag, integer, listOf, mapOf, object, optional, text, type Validation } from '../schema.ts';

/**
 * Printable ASCII without spaces, because a routing key is used as is in the `:authority` of HTTP/2 and in log lines. Routers
 * exchange keys of at most 253 bytes. Some keys are reserved (`isReservedKey`).
 */
export function routingKey(description: string) {
  return text(`${description} It does not begin with \`${RESERVED_KEYS}\`.`, {
    minLength: 1,
    maxLength: 253,
    pattern: '^[!-~]+$',
    'x-kubernetes-validations': [notReserved],
  });
}

/** The file loader checks this rule too, see `check.ts`. */
const notReserved: Validation = {
  rule: `!self.startsWith('${RESERVED_KEYS}')`,
  message: `must not begin with \`${RESERVED_KEYS}\`: such keys are kept for the system`,
};

export function host(description: string) {
  return text(description, { minLength: 1, maxLength: 253, pattern: '^[!-~]+$' });
}

export function port(description: string) {
  return integer('int32', description, { minimum: 1, maximum: 65_535 });
}

export function tlsCredentials(use: string) {
  return text(
    `The name of a TLS bundle ${use} On Kubernetes it is a Secret of this namespace with the keys \`tls.crt\`, \`tls.key\` and ` +
      '`ca.crt`. Without a cluster it is a directory below `input/certs/` with files of these names; if you give none, the site issues it.',
  );
}

/** Setting of Listeners and Connectors. */
export const NETWORK_SETTING =
  '`network`: the container network in which it is served, on machines with Podman or Docker; `settings.networks` of the Site lists it.';

const PATHS_SETTING = '`request-paths`: `true` records the paths of requests, without queries, for `GET /v1/requests` of the router API.';

export const listenerSettings = optional(
  mapOf(text('The value of the setting.'), `Further settings by name. ${NETWORK_SETTING} ${PATHS_SETTING}`),
);

export const settings = optional(mapOf(text('The value of the setting.'), 'Further settings by name.'));

/** Only `tcp` is supported. Other values are admitted and then reported in the resource's status. */
export const type = optional(text('The protocol that is carried: `tcp`.', { default: 'tcp' }));

export const observer = optional(
  choice(
    ['auto', 'none', 'http1', 'http2'],
    'Protocol to detect in the traffic, for metrics of requests. `auto` detects it, `none` turns this off. ' +
      'Default: `settings.observer`, otherwise `auto`. The traffic is never changed.',
  ),
);

export const exposePodsByName = optional(
  flag('Whether each pod behind the connectors can also be reached on its own, by its name. Only on Kubernetes, and on both sides.', {
    default: false,
  }),
);

export const includeNotReadyPods = optional(flag('Whether pods get traffic before they are ready.', { default: false }));

export const requireClientCert = 'Whether clients must present a certificate signed by the `ca.crt` of the TLS bundle.';

export const useClientCert = optional(flag('Whether to present the certificate of the TLS bundle to the server.', { default: false }));

export const endpoint = object('An address that accepts links.', {
  name: optional(text('`inter-router`, or `edge` for links from edge sites.')),
  host: optional(text('The host name or address to connect to.', { maxLength: 253 })),
  port: optional(text('The port number to connect to, as text.', { maxLength: 5 })),
  group: optional(text('Endpoints of one group reach the same router or set of routers.')),
});

export const endpoints = optional(listOf(endpoint, 'Ports that accept links from other sites.'));

export const selectedPods = optional(
  listOf(
    object('One pod.', { name: optional(text('The name of the pod.')), ip: optional(text('The address of the pod.')) }),
    'Pods that `selector` matches now and that get traffic.',
  ),
);

export const hasMatchingListener = optional(flag('Whether at least one listener with this routing key is reachable in the network.'));

/** Description of fields from later versions that restrict access. Pruning them would leave access unrestricted. */
export const REFUSED =
  'Field of a later version of this API. It narrows what other sites may do, which this version cannot, so the object is refused.';

export const routingKeys = optional(
  listOf(text('A routing key.'), `The only routing keys that may be used over it. ${REFUSED}`, { maxItems: 4096 }),
);

/** A status with the common fields of all kinds. `conditionTypes` describes the conditions. */
export function statusWith<P extends TProperties>(conditionTypes: string, properties: P) {
  return object('Current state of the object.', {
    status: optional(
      choice(
        ['Pending', 'Error', 'Ready'],
        '`Ready`: it works now. `Pending`: it waits for something. `Error`: a change is necessary. `message` says which.',
      ),
    ),
    message: optional(text('Explanation for people, with advice.')),
    conditions: optional(conditions(`Conditions. ${conditionTypes}`)),
    ...properties,
  });
}

/** Rule that exactly one of two fields of an object is set. The file loader checks it too, see `validate.ts`. */
export function exactlyOne(a: string, b: string): Validation {
  return { rule: `has(self.${a}) != has(self.${b})`, message: `give exactly one of \`${a}\` and \`${b}\`` };
}
