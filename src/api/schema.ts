/**
 * Helpers for resource schemas: JSON Schema in Kubernetes' structural OpenAPI v3 form, with the TypeScript type derived from it.
 * Structural schemas use `additionalProperties` for maps (`patternProperties` is not allowed), allow `nullable`, and forbid unions
 * of types, so some typebox types are replaced here.
 * Source: Kubernetes documentation, "Specifying a structural schema" and "Extend the Kubernetes API with
 * CustomResourceDefinitions".
 * typebox is imported as a namespace, so the bundle takes only the parts used (a fifth of it).
 */
import * as Type from 'typebox';
import type { Static, TProperties, TSchema } from 'typebox';

/** Limits of a value, and its default. */
interface Limits<T> {
  /** Default that the API server fills in. */
  readonly default?: T;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly 'x-kubernetes-list-type'?: 'map' | 'atomic' | 'set';
  readonly 'x-kubernetes-list-map-keys'?: string[];
  readonly 'x-kubernetes-validations'?: readonly Validation[];
}

/** A CEL rule (`x-kubernetes-validations`). */
export interface Validation {
  readonly rule: string;
  /** Names the fault and how to fix it. */
  readonly message: string;
}

/** Data from a cache: shared, so it must not be changed. */
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
 * An optional field that may also be `null`. `null` stays `null` even if there is a default. For choices use `nullableChoice`. On
 * a field that is not nullable the API server drops the `null` and accepts the object.
 */
export function nullable<S extends TSchema>(schema: S) {
  return Type.Optional(Type.Unsafe<Static<S> | null>({ ...schema, nullable: true }));
}

/** An object with known fields. The API server prunes unknown fields. */
export function object<P extends TProperties>(description: string, properties: P, validations?: readonly Validation[]) {
  return Type.Object(properties, { description, ...(validations === undefined ? {} : { 'x-kubernetes-validations': validations }) });
}

export function text(description: string, limits: Limits<string> = {}) {
  return Type.Unsafe<string>(keywords({ type: 'string' }, description, limits));
}

export function flag(description: string, limits: Limits<boolean> = {}) {
  return Type.Unsafe<boolean>(keywords({ type: 'boolean' }, description, limits));
}

export function integer(format: 'int32' | 'int64', description: string, limits: Limits<number> = {}) {
  return Type.Unsafe<number>(keywords({ type: 'integer', format }, description, limits));
}

/** One of a fixed set of values. */
export function choice<const V extends readonly string[]>(values: V, description: string, limits: Limits<V[number]> = {}) {
  return Type.Unsafe<V[number]>(keywords({ type: 'string', enum: [...values] }, description, limits));
}

/**
 * One of a fixed set of values, or `null`, which stays `null`. Uses `pattern` because the API server refuses `null` under `enum`,
 * even if `nullable` is set (seen with Kubernetes 1.36).
 */
export function nullableChoice<const V extends readonly string[]>(values: V, description: string) {
  const shape = { type: 'string', pattern: `^(${values.join('|')})$`, nullable: true, description };
  return Type.Optional(Type.Unsafe<V[number] | null>(shape));
}

export function listOf<S extends TSchema>(items: S, description: string, limits: Limits<readonly Static<S>[]> = {}) {
  return Type.Unsafe<Static<S>[]>(keywords({ type: 'array', items }, description, limits));
}

export function mapOf<S extends TSchema>(values: S, description: string, limits: Limits<Readonly<Record<string, Static<S>>>> = {}) {
  return Type.Unsafe<Record<string, Static<S>>>(keywords({ type: 'object', additionalProperties: values }, description, limits));
}

/** Any object. The API server keeps its unknown fields. */
export function anyObject(description: string, limits: Limits<object> = {}) {
  return Type.Unsafe<Record<string, unknown>>(
    keywords({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, description, limits),
  );
}

/** @param description for `kubectl explain` and the reference; CommonMark */
function keywords(type: object, description: string, { default: value, ...limits }: Limits<unknown>): Readonly<Record<string, unknown>> {
  return { ...type, ...limits, description, ...(value === undefined ? {} : { default: value }) };
}
