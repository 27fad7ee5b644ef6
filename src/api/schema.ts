/**
 * Building blocks of a resource's schema: JSON Schema as Kubernetes' structural OpenAPI v3 wants it, from which the
 * TypeScript type follows.
 *
 * Source: Kubernetes documentation, "Specifying a structural schema" and "Extend the Kubernetes API with
 * CustomResourceDefinitions". Maps are `additionalProperties` (`patternProperties` is not allowed there), an optional
 * value may be `nullable`, and no node may have a union of types, hence blocks of our own where typebox has others.
 *
 * typebox is imported as a namespace so that the bundle takes only the parts used (a fifth of it).
 */
import * as Type from 'typebox';
import type { Static, TProperties, TSchema } from 'typebox';

/** What may be said of any value. */
export interface Words<T = unknown> {
  /** For `kubectl explain` and the reference; CommonMark. */
  readonly description: string;
  /** Filled in by the API server where the value is left out. */
  readonly default?: T;
  readonly validations?: readonly Validation[];
}

/** A rule in CEL (`x-kubernetes-validations`). */
export interface Validation {
  readonly rule: string;
  /** What is wrong and what to do about it. */
  readonly message: string;
}

/** Data as it comes out of a cache: shared, so never changed. */
export type Frozen<T> = T extends readonly (infer E)[]
  ? readonly Frozen<E>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T;

/** The TypeScript type of a schema's values. */
export type ValueOf<S extends TSchema> = Frozen<Static<S>>;

/** A field that may be left out. */
export const optional = Type.Optional;

/**
 * A field that may be left out, or be `null`, which then stays `null` even where there is a default. Not for a choice: the
 * API server refuses a `null` there, even one that `enum` names (seen with Kubernetes 1.36). Where a field is not nullable
 * it drops the `null` and accepts the object.
 */
export function nullable<S extends TSchema>(schema: S) {
  return Type.Optional(Type.Unsafe<Static<S> | null>({ ...schema, nullable: true }));
}

/** An object with known fields; others are pruned by the API server. */
export function object<P extends TProperties>(properties: P, words: Words) {
  return Type.Object(properties, keywords(words));
}

export function text(words: Words<string>, limits: Limits = {}) {
  return Type.Unsafe<string>({ type: 'string', ...limits, ...keywords(words) });
}

export function flag(words: Words<boolean>) {
  return Type.Unsafe<boolean>({ type: 'boolean', ...keywords(words) });
}

export function integer(format: 'int32' | 'int64', words: Words<number>, limits: Limits = {}) {
  return Type.Unsafe<number>({ type: 'integer', format, ...limits, ...keywords(words) });
}

/** One of a few words. */
export function choice<const V extends readonly string[]>(values: V, words: Words<V[number]>) {
  return Type.Unsafe<V[number]>({ type: 'string', enum: [...values], ...keywords(words) });
}

export function listOf<S extends TSchema>(items: S, words: Words<readonly Static<S>[]>, extensions: ListExtensions = {}) {
  return Type.Unsafe<Static<S>[]>({ type: 'array', items, ...extensions, ...keywords(words) });
}

export function mapOf<S extends TSchema>(values: S, words: Words<Readonly<Record<string, Static<S>>>>, limits: MapLimits = {}) {
  return Type.Unsafe<Record<string, Static<S>>>({ type: 'object', additionalProperties: values, ...limits, ...keywords(words) });
}

/** Any object; the API server keeps what it does not know. */
export function anyObject(words: Words<object>) {
  return Type.Unsafe<Record<string, unknown>>({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...keywords(words) });
}

interface Limits {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

interface MapLimits {
  readonly minProperties?: number;
  readonly maxProperties?: number;
}

interface ListExtensions {
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly 'x-kubernetes-list-type'?: 'map' | 'atomic' | 'set';
  readonly 'x-kubernetes-list-map-keys'?: string[];
}

function keywords({ validations, ...words }: Words): Readonly<Record<string, unknown>> {
  return validations === undefined ? words : { ...words, 'x-kubernetes-validations': validations };
}
