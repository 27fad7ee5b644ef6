import type { SelectablePod } from './material.ts';

/** Fields of a pod that are read. */
interface PodObject {
  readonly metadata: { readonly name?: string; readonly labels?: Readonly<Record<string, string>>; readonly deletionTimestamp?: string };
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export function selectablePod({ metadata: { name = '', labels = {}, deletionTimestamp }, status }: PodObject): SelectablePod {
  return {
    name,
    labels,
    ...(status?.podIP === undefined ? {} : { ip: status.podIP }),
    running: status?.phase === 'Running' && deletionTimestamp === undefined,
    ready: status?.conditions?.some(({ type, status: holds }) => type === 'Ready' && holds === 'True') === true,
  };
}
