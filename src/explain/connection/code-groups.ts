/** Codes of the catalogue that several chains report at the same step. */
import { modules } from '../../errors/catalogue.ts';
import { isConditionCode, type Problem } from '../../errors/problem.ts';

type Code = Problem['code'];

const conditionsIn = (codes: object): readonly Code[] => Object.keys(codes).filter(isConditionCode);

/** The process, and the state that it needs to run. */
export const PROCESS_CODES: readonly Code[] = [
  'starting',
  'stopping',
  'not-running',
  'cannot-start',
  'processing',
  ...conditionsIn(modules.files),
];

/** The written resource. */
export const SPEC_CODES: readonly Code[] = [
  'invalid-file',
  'invalid',
  'too-many',
  'not-on-platform',
  'not-supported',
  'type',
  'setting',
  'host',
  'port',
  'routing-key',
  'routing-key-reserved',
  'strategy',
  'cost',
  'no-endpoint',
  'role',
  'no-role',
  'edge-access',
  'bad-argument',
  'name-taken',
];

export const SITE_CODES: readonly Code[] = ['no-site', 'second-site'];

/** A TLS bundle of this site. */
export const BUNDLE_CODES: readonly Code[] = ['tls-missing', 'tls-unreadable', 'secret-awaited', ...conditionsIn(modules.tls)];

/** Objects of the cluster that a resource needs. */
export const CLUSTER_CODES: readonly Code[] = [
  'object-contested',
  'changed-by-admission',
  'object-refused',
  'object-foreign',
  'access-type',
  'service-exists',
  'service-awaited',
  'no-router-port',
  'too-many-pods',
];

/** The router of a container network. */
export const NETWORK_CODES: readonly Code[] = ['network', 'network-router'];

/** A listening socket of this machine. */
export const PORT_CODES: readonly Code[] = [
  ...conditionsIn(modules.ports).filter((code) => code !== 'name-unknown' && code !== 'host-not-local'),
  'port-taken-twice',
  'opening',
];

export const TOKEN_CODES: readonly Code[] = conditionsIn(modules.trust).filter((code) => /^(?:token|clock|server|request)-/.test(code));

/** TLS with a peer: either side can refuse the certificate of the other. */
export const HANDSHAKE_CODES: readonly Code[] = conditionsIn(modules.tls);
