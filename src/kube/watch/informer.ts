import { CacheWriter } from './cache.ts';
import type { Cache, InformerOptions, ListWatch } from '../contract.ts';
import type { KubeObject } from '../objects.ts';
import type { Resource } from '../resource.ts';
import { runWatcher } from './watcher.ts';
import type { WatcherOptions } from './watcher.ts';
import { EarshotError } from '../../errors/earshot-error.ts';

/** Recovery of the watch; the defaults are changed only by tests. */
export type Recovery = Pick<WatcherOptions<KubeObject>, 'backoff' | 'random'>;

/** Maintains a cache of all selected objects until the signal is aborted or the client is closed. */
export function startInformer<S extends KubeObject, T extends KubeObject = S>(
  client: ListWatch,
  of: Resource<S>,
  options: InformerOptions<S, T>,
  recovery: Recovery = {},
): Cache<T> {
  const { onProblem = warn } = options;
  const writer = new CacheWriter<S, T>({
    // Without a projection S and T are the same type (the parameter's default).
    project: options.project ?? ((object) => withoutManagedFields(object) as unknown as T),
    ...(options.indexes === undefined ? {} : { indexes: options.indexes }),
    onCallbackError: (error) => onProblem({ resource: of.plural, kind: 'callback', error, delay: 0 }),
  });
  const { namespace, labelSelector, fieldSelector } = options;
  void runWatcher(client, of, {
    ...recovery,
    selection: {
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    },
    sink: writer,
    signal: options.signal,
    onProblem: (kind, error, delay) => onProblem({ resource: of.plural, kind, error, delay }),
  }).finally(() => {
    writer.stop(
      new EarshotError('kube-stopped', `The informer of ${of.plural} was stopped before its first list was in.`, options.signal.reason),
    );
  });
  return writer.reader;
}

function withoutManagedFields<S extends KubeObject>(object: S): S {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function warn(problem: { readonly resource: string; readonly error: unknown }): void {
  const { resource, error } = problem;
  process.emitWarning(`informer of ${resource}: ${error instanceof Error ? error.message : String(error)}`);
}
