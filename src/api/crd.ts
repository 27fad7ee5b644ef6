/** Converts schemas to CustomResourceDefinitions (apiextensions.k8s.io/v1). */
import type { TObject, TSchema } from 'typebox';
import type { KubeObject, StringMap } from '../kube/objects.ts';
import { apiVersionOf, resource, type Resource } from '../kube/resource.ts';
import { VERSION, VERSION_ANNOTATION } from '../version.ts';

/** A structural schema as plain JSON. */
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
  /** Column priority. Columns above 0 are shown only with `kubectl get -o wide`. */
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
    /** Never written with the other fields, see `customResourceDefinition`. */
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

/** Everything that defines a resource, in the form in which its author writes it. */
export interface Definition {
  readonly resource: Resource;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly description: string;
  readonly spec: TSchema;
  /** Schema of the status; its presence makes `status` a subresource. */
  readonly status?: { readonly schema: TObject; readonly nullable: boolean };
  readonly columns: readonly PrinterColumn[];
  readonly selectableFields?: readonly string[];
  readonly annotations?: StringMap;
  /** Whether an object without `spec` gets an empty one. Only for specs without required fields. */
  readonly specMayBeLeftOut?: boolean;
}

/**
 * `spec.conversion` is left out on purpose: with one version nothing is converted. The API server refuses `None` on a definition
 * that still has the conversion webhook of an earlier system. Whatever applies the definition removes such a webhook.
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

/** Returns a schema as plain JSON. The extra properties of typebox are not enumerable, so JSON.stringify drops them. */
export function structural(schema: TSchema): Structural {
  const plain: unknown = JSON.parse(JSON.stringify(schema), (key, value: unknown) => (isEmptyRequired(key, value) ? undefined : value));
  // The helpers in schema.ts write only keywords that Structural names; a test checks that the API server accepts the result.
  return plain as Structural;
}

/** In OpenAPI v3.0 `required` has at least one name or is absent. */
function isEmptyRequired(key: string, value: unknown): boolean {
  return key === 'required' && Array.isArray(value) && value.length === 0;
}
