/** Resources of skupper.io/v2alpha1 as a person would write them; JSON is YAML too. */

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

export function manifest(kind: string, name: string, spec: Readonly<Record<string, unknown>> = {}): Manifest {
  return { apiVersion: 'skupper.io/v2alpha1', kind, metadata: { name }, spec };
}

/** The routing key is the name unless `spec` has another. */
export function listener(name: string, host: string, port: number, spec: Readonly<Record<string, unknown>> = {}): Manifest {
  return manifest('Listener', name, { routingKey: name, host, port, ...spec });
}

/** The routing key is the name unless `spec` has another. */
export function connector(name: string, host: string, port: number, spec: Readonly<Record<string, unknown>> = {}): Manifest {
  return manifest('Connector', name, { routingKey: name, host, port, ...spec });
}
