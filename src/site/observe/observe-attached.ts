import type { AttachedConnector, AttachedConnectorBinding } from '../../api/skupper/index.ts';
import { quoted } from '../../text/printable.ts';
import { keyOf, type StatusOf } from '../resources.ts';
import { configured, done, statusOf, waiting } from './status.ts';
import type { View } from './view.ts';

export function observeAttachedConnector(connector: AttachedConnector, view: View): StatusOf<'AttachedConnector'> {
  const selectedPods = view.plan.selectedPods.get(keyOf(connector));
  return { ...statusOf({ Configured: configured(view) }, view), ...(selectedPods === undefined ? {} : { selectedPods }) };
}

export function observeAttachedBinding(binding: AttachedConnectorBinding, view: View): StatusOf<'AttachedConnectorBinding'> {
  const { routingKey } = binding.spec;
  const matched = view.routers?.network.some(({ services = [] }) =>
    services.some((service) => service.routingKey === routingKey && (service.listeners?.length ?? 0) > 0),
  );
  const hasMatchingListener = matched === true;
  const conditions = {
    Configured: configured(view),
    Matched: hasMatchingListener ? done : waiting('no-listener', `no listener of routing key ${quoted(routingKey)} is in the network`),
  };
  return { ...statusOf(conditions, view), hasMatchingListener };
}
