/** Finds where a process of this machine writes its log, from its entries in /proc. Pure. */

export type LogSource =
  | { readonly kind: 'journal'; readonly unit: string; readonly isUser: boolean }
  | { readonly kind: 'file'; readonly path: string }
  /** `program` is that of the container engine. */
  | { readonly kind: 'container'; readonly program: string; readonly name: string }
  /** The log cannot be read here; `why` is for users. */
  | { readonly kind: 'elsewhere'; readonly why: string };

/** Standard output of a process: the target of /proc/PID/fd/1. */
export interface Output {
  readonly target: string;
  readonly isFile: boolean;
}

/**
 * @param output undefined if this user has no permission to read it
 * @param groups content of /proc/PID/cgroup, see cgroups(7)
 */
export function logSourceOf(pid: number, output: Output | undefined, groups: string): LogSource {
  if (output === undefined)
    return { kind: 'elsewhere', why: `process ${pid} belongs to another user: try again as that user, or with sudo` };
  const { target, isFile } = output;
  if (isFile) return { kind: 'file', path: `/proc/${pid}/fd/1` };
  const unit = unitIn(groups);
  if (target.startsWith('socket:') && unit !== undefined) return { kind: 'journal', ...unit };
  const where = target === '/dev/null' ? 'nowhere' : target.startsWith('/dev/') ? `to the terminal ${target}` : 'to a pipe';
  return { kind: 'elsewhere', why: `process ${pid} writes its log ${where}: look there for it` };
}

/** The innermost systemd service in the path of the control group. */
function unitIn(groups: string): { readonly unit: string; readonly isUser: boolean } | undefined {
  const path = groups.split('\n').find((line) => line.startsWith('0::') || line.includes(':name=systemd:'));
  const unit = /\/([^/]+\.service)(?:\/[^/]*)?$/.exec(path ?? '')?.[1];
  return unit === undefined ? undefined : { unit, isUser: /\/user@\d+\.service\//.test(path ?? '') };
}

export interface Tail {
  /** Number of last lines to show. */
  readonly lines: number;
  readonly follow: boolean;
}

/** Programs and arguments that print all these sources: one for each container, and at most one for files and two for journals. */
export function logCommands(sources: readonly LogSource[], { lines, follow }: Tail): readonly (readonly [string, ...string[]])[] {
  const units = sources.filter((source) => source.kind === 'journal');
  const files = sources.filter((source) => source.kind === 'file').map(({ path }) => path);
  const journals = [true, false].flatMap((isUser): readonly (readonly [string, ...string[]])[] => {
    const of = units.filter((unit) => unit.isUser === isUser).flatMap(({ unit }) => ['--unit', unit]);
    if (of.length === 0) return [];
    const scope = isUser ? ['--user'] : [];
    return [['journalctl', ...scope, '--no-pager', '--output', 'cat', '--lines', String(lines), ...(follow ? ['--follow'] : []), ...of]];
  });
  const tail = ['--quiet', '--lines', String(lines), ...(follow ? ['--follow'] : [])];
  const containers = sources.flatMap((source): readonly (readonly [string, ...string[]])[] =>
    source.kind === 'container' ? [[source.program, 'logs', '--tail', String(lines), ...(follow ? ['--follow'] : []), source.name]] : [],
  );
  return [...journals, ...containers, ...(files.length === 0 ? [] : [['tail', ...tail, ...files] as const])];
}
