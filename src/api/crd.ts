/** Turns schemas into CustomResourceDefinitions (apiextensions.k8s.io/v1). */
import type { TObject } from 'typebox';
import type { KubeObject, StringMap } from '../kube/objects.ts';
import { apiVersionOf, resource, type Resource } from '../kube/resource.ts';
import { VERSION, VERSION_ANNOTATION } from '../version.ts';

/** A structural schema: plain JSON. */
export interface Structural {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly nullable?: boolean;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Structural>>;
  readonly required?: readonly string[];
  readonly items?: Structural;
  readonly additionalProperties?: Structural;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-validations'?: readonly { readonly rule: string; readonly message: string }[];
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly jsonPath: string;
  readonly description: string;
  /** Above 0: only with `kubectl get -o wide`. */
  readonly priority?: number;
}

export function column(name: string, jsonPath: string, description: string, type: PrinterColumn['type'] = 'string'): PrinterColumn {
  return { name, type, jsonPath, description };
}

export interface CustomResourceDefinition extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly names: {
      readonly kind: string;
      readonly listKind: string;
      readonly plural: string;
      readonly singular: string;
      readonly shortNames: readonly string[];
      readonly categories: readonly string[];
    };
    readonly scope: 'Namespaced' | 'Cluster';
    readonly versions: readonly CrdVersion[];
    /** Never written with the rest, see below. */
    readonly conversion?: { readonly strategy: string };
  };
}

export interface CrdVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema: { readonly openAPIV3Schema: Structural };
  readonly subresources: { readonly status?: object };
  readonly additionalPrinterColumns: readonly PrinterColumn[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
}

export const customResourceDefinitionsResource = resource<CustomResourceDefinition>(
  'apiextensions.k8s.io/v1',
  'CustomResourceDefinition',
  'customresourcedefinitions',
  'cluster',
);

/** What a resource consists of, as its author writes it. */
export interface Definition {
  readonly resource: Resource;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly description: string;
  readonly spec: TObject;
  /** Makes `status` a subresource. */
  readonly status?: { readonly schema: TObject; readonly nullable: boolean };
  readonly columns: readonly PrinterColumn[];
  readonly selectableFields?: readonly string[];
  readonly annotations?: StringMap;
  /** An object without `spec` gets an empty one, where no field of it must be given. */
  readonly specMayBeLeftOut?: boolean;
}

/**
 * `spec.conversion` is left out on purpose: with one version nothing is converted, and stating `None` would be refused
 * on a definition on which an earlier system left a conversion webhook. Who applies it takes such a webhook away.
 */
export function customResourceDefinition(definition: Definition): CustomResourceDefinition {
  const { group, kind, plural, namespaced, version } = definition.resource;
  const { singular, shortNames, categories, columns, selectableFields, status, annotations } = definition;
  return {
    apiVersion: apiVersionOf(customResourceDefinitionsResource),
    kind: customResourceDefinitionsResource.kind,
    metadata: { name: `${plural}.${group}`, annotations: { ...annotations, [VERSION_ANNOTATION]: VERSION } },
    spec: {
      group,
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames, categories },
      scope: namespaced ? 'Namespaced' : 'Cluster',
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: rootSchema(definition) },
          subresources: status === undefined ? {} : { status: {} },
          additionalPrinterColumns: columns,
          ...(selectableFields === undefined ? {} : { selectableFields: selectableFields.map((jsonPath) => ({ jsonPath })) }),
        },
      ],
    },
  };
}

function rootSchema({ description, spec, status, specMayBeLeftOut = false }: Definition): Structural {
  const schema = structural(spec);
  const isOptional = specMayBeLeftOut && schema.required === undefined;
  return {
    type: 'object',
    description,
    ...(isOptional ? {} : { required: ['spec'] }),
    properties: {
      spec: isOptional ? { ...schema, default: {} } : schema,
      ...(status === undefined ? {} : { status: { ...structural(status.schema), ...(status.nullable ? { nullable: true } : {}) } }),
    },
  };
}

/** A schema as plain JSON: what typebox keeps beside it is not enumerable, and so not in the text. */
export function structural(schema: TObject): Structural {
  const plain: unknown = JSON.parse(JSON.stringify(schema), (key, value: unknown) => (isEmptyRequired(key, value) ? undefined : value));
  // The blocks in schema.ts write only keywords that Structural names, and a test has the API server accept the result.
  return plain as Structural;
}

/** OpenAPI v3.0 wants at least one name in `required`, or no such keyword. */
function isEmptyRequired(key: string, value: unknown): boolean {
  return key === 'required' && Array.isArray(value) && value.length === 0;
}
