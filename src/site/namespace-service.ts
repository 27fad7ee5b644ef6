import { annotation, label } from '../api/skupper/cluster-names.ts';
import { foreignController, type Owned } from './foreign-controller.ts';
import type { NamespaceService } from './material.ts';

/** Fields of a Service that are read. */
interface ServiceObject {
  readonly metadata: Owned & {
    readonly name?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly ports?: readonly { readonly name?: string; readonly port: number; readonly targetPort?: number | string }[] };
}

export function namespaceService({ metadata, spec }: ServiceObject): NamespaceService {
  const { name = '', labels, annotations } = metadata;
  const owner = foreignController(metadata);
  const value = owner === undefined ? labels?.[label.listener] : undefined;
  return {
    name,
    ...(value === undefined ? {} : { label: value }),
    ...(owner === undefined ? {} : { owner }),
    controlled: owner === undefined && annotations?.[annotation.controlled] === 'true',
    ports: (spec?.ports ?? []).map(({ name: portName = '', port, targetPort = port }) => ({ name: portName, port, targetPort })),
  };
}
