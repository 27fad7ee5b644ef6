import type { KubeObject } from '../../../src/kube/objects.ts';
import type { ListWatch, Page, PageOptions, Selection, WatchEvent, WatchOptions } from '../../../src/kube/contract.ts';
import { eventually } from '../../harness/wait.ts';

type AnyObject = KubeObject & { readonly spec?: unknown };

export function object(name: string, resourceVersion: number, spec?: unknown, uid = `uid-${name}`): AnyObject {
  return { metadata: { name, uid, resourceVersion: String(resourceVersion) }, ...(spec === undefined ? {} : { spec }) };
}

/** A watch that the informer under test has opened; the test plays the server's part. */
export interface OpenWatch {
  readonly from: WatchOptions<KubeObject>['from'];
  readonly options: Omit<WatchOptions<KubeObject>, 'onEvent'>;
  send(type: 'ADDED' | 'MODIFIED' | 'DELETED', ...objects: readonly KubeObject[]): void;
  bookmark(resourceVersion: number, initialEventsEnd?: boolean): void;
  /** In good order. */
  end(): void;
  fail(error: unknown): void;
}

export interface OpenPage {
  readonly selection: Selection;
  readonly continue: string | undefined;
  answer(page: Page<KubeObject>): void;
  fail(error: unknown): void;
}

/** A ListWatch whose answers the test gives one by one. */
export class Scripted implements ListWatch {
  readonly #watches: OpenWatch[] = [];
  readonly #pages: OpenPage[] = [];
  #watchesTaken = 0;
  #pagesTaken = 0;

  get watches(): number {
    return this.#watches.length;
  }

  get pages(): number {
    return this.#pages.length;
  }

  nextWatch(): Promise<OpenWatch> {
    const at = this.#watchesTaken++;
    return eventually(`watch ${at + 1}`, () => this.#watches[at]);
  }

  nextPage(): Promise<OpenPage> {
    const at = this.#pagesTaken++;
    return eventually(`page ${at + 1}`, () => this.#pages[at]);
  }

  page<T extends KubeObject>(_of: unknown, selection: Selection, options: PageOptions = {}): Promise<Page<T>> {
    return new Promise((resolve, reject) => {
      options.signal?.addEventListener('abort', () => reject(options.signal?.reason), { once: true });
      // The test gives objects of the type that it asked for.
      const answer = (page: Page<KubeObject>): void => resolve(page as Page<T>);
      this.#pages.push({ selection, continue: options.continue, answer, fail: reject });
    });
  }

  watch<T extends KubeObject>(_of: unknown, options: WatchOptions<T>): Promise<void> {
    return new Promise((resolve, reject) => {
      options.signal?.addEventListener('abort', () => reject(options.signal?.reason), { once: true });
      // As above.
      const emit = (event: WatchEvent<KubeObject>): void => options.onEvent(event as WatchEvent<T>);
      this.#watches.push({
        from: options.from,
        options,
        send: (type, ...objects) => {
          for (const each of objects) emit({ type, object: each });
        },
        bookmark: (resourceVersion, initialEventsEnd = false) =>
          emit({ type: 'BOOKMARK', resourceVersion: String(resourceVersion), initialEventsEnd }),
        end: resolve,
        fail: reject,
      });
    });
  }
}
