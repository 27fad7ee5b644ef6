/**
 * listeners.stackable.tech/v1alpha1: the types of its objects and where they live. The schemas are imported as types
 * only, so a program that just reads and writes these objects does not load them.
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

/** A policy: how Listeners of this class are exposed. Cluster-scoped. */
export interface ListenerClass extends KubeObject {
  readonly spec: ListenerClassSpec;
  /** Why what is stored cannot be read by this version's definition. Never stored; the spec then says nothing. */
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
  /** Why what is stored cannot be read by this version's definition. Never stored; the spec then says nothing. */
  readonly unreadable?: string;
  readonly status?: ListenerStatus | null;
}

export type PodListenersSpec = ValueOf<typeof podListenersSpec>;
export type PodListenersStatus = ValueOf<typeof podListenersStatus>;
/** One entry of `PodListeners.spec.listeners`. */
export type PodListener = ValueOf<typeof podListener>;

/**
 * The Listeners that one pod mounts, and the addresses that reach that pod. Request and answer are both in the spec: the
 * node's driver asks by a key of `spec.mounts`, by volume handle, and the controller answers with an entry of
 * `spec.listeners`, by name of the pod's volume. What a mount still waits for is in the status. Who may write what, and why:
 * docs/adr/0005.
 */
export interface PodListeners extends KubeObject {
  readonly spec: PodListenersSpec;
  readonly status?: PodListenersStatus;
}

export const listenerClasses = resource<ListenerClass>(API_VERSION, 'ListenerClass', 'listenerclasses', 'cluster');
export const listeners = resource<Listener>(API_VERSION, 'Listener', 'listeners');
export const podListeners = resource<PodListeners>(API_VERSION, 'PodListeners', 'podlisteners');
