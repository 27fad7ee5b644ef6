/** The resources of one namespace, wherever they are kept. Commands know them by this and no other way. */
import type { SkupperKind, SkupperResource } from '../api/skupper/index.ts';

export interface Resources {
  readonly namespace: string;
  /** By name: as the site has taken them up, and what was written and has not been. Where nothing runs, none is ready. */
  list<K extends SkupperKind>(kind: K): Promise<readonly OfKind<K>[]>;
  /** As the site has taken it up: the spec, with its defaults, is the one that the status is about. */
  get<K extends SkupperKind>(kind: K, name: string): Promise<OfKind<K> | undefined>;
  /** As it was written, checked or not. */
  find(kind: string, name: string): Promise<Written | undefined>;
  /** All that was written, of any kind. */
  written(): Promise<readonly Written[]>;
  put(manifest: Manifest): Promise<'created' | 'changed' | 'unchanged'>;
  /** @returns whether it was there */
  remove(kind: string, name: string): Promise<boolean>;
  /** Returns once something may have changed, and after so many milliseconds at the latest. */
  wait(milliseconds: number): Promise<void>;
  /** That nothing looks after the resources, and what to do; undefined while something does. */
  notRunning(): Promise<string | undefined>;
}

export type OfKind<K extends SkupperKind> = Extract<SkupperResource, { readonly kind: K }>;

/** A resource as it is written, before anything is checked. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

export interface Written {
  readonly manifest: Manifest;
  /** For people: where it is. */
  readonly location: string;
  /** What it was made of, and would be made of again. */
  readonly madeOf?: { readonly kind: SkupperKind; readonly name: string };
}
