/** Names that the objects of consoles have in common. */

/** Value of the labels `app.kubernetes.io/name` and `skupper.io/component`. */
export const OBSERVER_COMPONENT = 'network-observer';

/** Key of the Secret with users, as in Skupper's chart. */
export const PASSWORD_KEY = 'htpasswd';

/** Labels that select the pod of one console. */
export const selectorOfConsole = (name: string) =>
  ({ 'app.kubernetes.io/name': OBSERVER_COMPONENT, 'app.kubernetes.io/instance': name }) as const;
