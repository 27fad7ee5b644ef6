/**
 * listeners.stackable.tech/v1alpha1: object types and resource descriptions. The schemas are imported as types only, so programs
 * that only read and write objects do not load them.
 */
import type { KubeObject } from '../../kube/objects.ts';
import { resource } from '../../kube/resource.ts';
import type { ValueOf } from '../schema.ts';
import type { ingress } from './address.ts';
import type { listenerClassSpec } from './listener-class.ts';
import type { listenerPort, listenerSpec, listenerStatus } from './listener.ts';
import { API_VERSION } from './names.ts';
import type { podListener, podListenersSpec, podListenersStatus } from './pod-listeners.ts';

export type ListenerClassSpec = ValueOf<typeof listenerClassSpec>;
export type PreferredAddressType = NonNullable<ListenerClassSpec['preferredAddressType']>;
export type ObjectOverridesPolicy = NonNullable<ListenerClassSpec['objectOverridesPolicy']>;
export type NodeLossPolicy = NonNullable<ListenerClassSpec['nodeLossPolicy']>;

/** Cluster-scoped policy: how Listeners of this class are exposed. */
export interface ListenerClass extends KubeObject {
  readonly spec: ListenerClassSpec;
  /** Reason why the stored object does not match this version's definition. Never stored. If set, the spec holds no values. */
  readonly unreadable?: string;
}

export type ListenerPort = ValueOf<typeof listenerPort>;
export type ListenerSpec = ValueOf<typeof listenerSpec>;
export type ListenerStatus = ValueOf<typeof listenerStatus>;
/** One address, with the port numbers that clients use there, by port name. */
export type ListenerIngress = ValueOf<typeof ingress>;
export type AddressType = ListenerIngress['addressType'];

/** A set of pods to expose. */
export interface Listener extends KubeObject {
  readonly spec: ListenerSpec;
  /** Reason why the stored object does not match this version's definition. Never stored. If set, the spec holds no values. */
  readonly unreadable?: string;
  readonly status?: ListenerStatus | null;
}

export type PodListenersSpec = ValueOf<typeof podListenersSpec>;
export type PodListenersStatus = ValueOf<typeof podListenersStatus>;
/** One entry of `PodListeners.spec.listeners`. */
export type PodListener = ValueOf<typeof podListener>;

/**
 * The Listeners that one pod mounts, and the addresses that reach the pod. The spec holds request and answer: the node driver
 * adds `spec.mounts` entries by volume handle, the controller adds `spec.listeners` entries by volume name. The status says what
 * a mount still waits for. Field ownership: docs/adr/0005.
 */
export interface PodListeners extends KubeObject {
  readonly spec: PodListenersSpec;
  readonly status?: PodListenersStatus;
}

export const listenerClasses = resource<ListenerClass>(API_VERSION, 'ListenerClass', 'listenerclasses', 'cluster');
export const listeners = resource<Listener>(API_VERSION, 'Listener', 'listeners');
export const podListeners = resource<PodListeners>(API_VERSION, 'PodListeners', 'podlisteners');
