import { annotation, label } from '../api/skupper/cluster-names.ts';
import type { NamespaceService } from './material.ts';

/** What is read of a Service as the API has it. */
interface ServiceObject {
  readonly metadata: {
    readonly name?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly ports?: readonly { readonly name?: string; readonly port: number; readonly targetPort?: number | string }[] };
}

export function namespaceService({ metadata: { name = '', labels, annotations }, spec }: ServiceObject): NamespaceService {
  const value = labels?.[label.listener];
  return {
    name,
    ...(value === undefined ? {} : { label: value }),
    controlled: annotations?.[annotation.controlled] === 'true',
    ports: (spec?.ports ?? []).map(({ name: portName = '', port, targetPort = port }) => ({ name: portName, port, targetPort })),
  };
}
