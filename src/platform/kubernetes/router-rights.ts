/** Rights by which a user or a program reads the routers of a namespace (pure). */

export interface RouterRights {
  /** Whether it may list and watch pods. */
  readonly pods: boolean;
  readonly metrics: boolean;
  readonly api: boolean;
}

/** Reader of the namespace. `subject` begins sentences: `your user`. */
export interface Reader {
  readonly subject: string;
  readonly namespace: string;
}

export const lacksRight = (right: string, { subject, namespace }: Reader): string =>
  `${subject} may not ${right} in the namespace ${namespace}`;
