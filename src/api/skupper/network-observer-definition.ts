/** Definition of the kind NetworkObserver. Its spec keeps unknown fields, because objects of Skupper's operator have them. */
import { conditions } from '../condition-schema.ts';
import { column, customResourceDefinition, type CustomResourceDefinition } from '../crd.ts';
import { anyObject, object, optional, text } from '../schema.ts';
import { networkObservers } from './network-observer.ts';

const spec = anyObject(
  "The values of Skupper's chart `network-observer`. Effective are `auth.basic.create`, `auth.basic.secretName`, `tls`, `service.type`, " +
    '`service.port`, `resources` and `containerResources.networkObserver`. The condition `SpecSupported` names fields without effect.',
);

const status = object('The created objects and their state.', {
  conditions: optional(
    conditions(
      '`Initialized`: the object is reconciled. `Deployed`: the console answers. `SpecSupported`: every field of the spec has an effect.',
    ),
  ),
  deployedRelease: optional(
    object('The created objects.', { name: text('The name of the Deployment, Service, ServiceAccount, Role and RoleBinding.') }),
  ),
});

/** deploy/crds/ holds the same as YAML. */
export function networkObserverDefinition(): CustomResourceDefinition {
  return customResourceDefinition({
    resource: networkObservers,
    singular: 'networkobserver',
    shortNames: [],
    categories: ['earshot'],
    // Deleting a definition deletes every object of its kind, so a Helm release that installed it keeps it.
    annotations: { 'helm.sh/resource-policy': 'keep' },
    description: 'A console for the site of the namespace, with users and passwords. The kind is that of an operator of Skupper.',
    spec,
    status: { schema: status, nullable: false },
    columns: [
      column('Deployed', '.status.conditions[?(@.type=="Deployed")].status', 'Whether the console answers.'),
      column('Message', '.status.conditions[?(@.type=="Deployed")].message', 'The state, and what to do about it.'),
      column('Age', '.metadata.creationTimestamp', 'Time since the object was created.', 'date'),
    ],
    specMayBeLeftOut: true,
  });
}
